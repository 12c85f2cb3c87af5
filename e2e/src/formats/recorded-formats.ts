/** Name that the directory `.stackwright` has in a recording. */
export const STORE_DIRECTORY = "dot-stackwright";

/** The configuration of a recording: values of each kind, instances, a module, a secret. */
export const CONFIGURATION: Readonly<Record<string, string>> = {
  "main.tf": `variable "greeting" {
  type    = string
  default = "hello"
}

variable "password" {
  type      = string
  sensitive = true
  default   = "correct horse battery staple"
}

resource "terraform_data" "one" {
  input = { text = var.greeting, list = [1, 2.5, true, null], secret = var.password }
}

resource "terraform_data" "each" {
  for_each = toset(["a", "b/c", "d.e"])
  input    = "\${each.key} \${terraform_data.one.id}"
}

module "child" {
  source = "./m"
  name   = var.greeting
}

output "greeting" {
  value = terraform_data.one.output.text
}

output "secret" {
  value     = terraform_data.one.output.secret
  sensitive = true
}

output "names" {
  value = module.child.names
}
`,
  "m/main.tf": `variable "name" {
  type = string
}

resource "terraform_data" "counted" {
  count            = 2
  input            = "\${var.name}-\${count.index}"
  triggers_replace = var.name
}

output "names" {
  value = terraform_data.counted[*].output
}
`,
};

/** Files of a recorded archive. */
export const ARCHIVE_FILES: Readonly<Record<string, string>> = {
  LICENSE: "A licence.\n".repeat(50),
  "docs/index.md": "# A provider\n",
  "terraform-provider-recorded_v1.0.0": '#!/bin/sh\necho "no plugin"\n',
};
