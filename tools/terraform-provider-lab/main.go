// Command terraform-provider-lab is a Terraform provider for tests. It speaks protocol 6 alone and
// uses what only that protocol has, keeps its objects as files that a test can look at and change,
// and misbehaves when its configuration says so.
package main

import (
	"context"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
)

// version is set by the linker.
var version = "0.0.0"

func main() {
	err := providerserver.Serve(
		context.Background(),
		func() provider.Provider { return &labProvider{version: version} },
		providerserver.ServeOpts{Address: "registry.terraform.io/stackwright/lab"},
	)
	if err != nil {
		log.Fatal(err)
	}
}
