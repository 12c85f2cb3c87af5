package main

import (
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Binder is lab:index:Binder, a component: one note for each of its titles.
type Binder struct {
	pulumi.ResourceState

	Files pulumi.StringArrayOutput `pulumi:"files"`
	Notes pulumi.IntOutput         `pulumi:"notes"`
}

// BinderArgs are the inputs.
type BinderArgs struct {
	Titles []string              `pulumi:"titles"`
	Text   pulumi.StringInput    `pulumi:"text"`
	Secret pulumi.StringPtrInput `pulumi:"secret,optional" provider:"secret"`
}

// NewBinder makes the notes of a binder.
func NewBinder(ctx *pulumi.Context, name string, args BinderArgs, opts ...pulumi.ResourceOption) (*Binder, error) {
	binder := &Binder{}
	if err := ctx.RegisterComponentResource("lab:index:Binder", name, binder, opts...); err != nil {
		return nil, err
	}
	files := pulumi.StringArray{}
	for _, title := range args.Titles {
		var note struct {
			pulumi.CustomResourceState
			File pulumi.StringOutput `pulumi:"file"`
		}
		inputs := pulumi.Map{"title": pulumi.String(title), "text": args.Text}
		if args.Secret != nil {
			inputs["secret"] = args.Secret
		}
		child := fmt.Sprintf("%s-%s", name, title)
		if err := ctx.RegisterResource("lab:index:Note", child, inputs, &note, pulumi.Parent(binder)); err != nil {
			return nil, err
		}
		files = append(files, note.File)
	}
	binder.Files = files.ToStringArrayOutput()
	binder.Notes = pulumi.Int(len(args.Titles)).ToIntOutput()
	return binder, nil
}

var _ infer.ComponentFn[BinderArgs, *Binder] = NewBinder
