import { expect, it } from "vitest";
import { backendArguments } from "./backend-arguments.ts";
import { loadModule } from "./load-module.ts";

function backendOf(files: Readonly<Record<string, string>>) {
  const { backend } = loadModule(new Map(Object.entries(files))).config;
  return backend && { type: backend.type, place: Object.fromEntries(backend.place) };
}

it("reads where the state is from a backend block, without credentials", () => {
  const block = `backend "s3" {
    bucket     = "states"
    key        = "app/terraform.tfstate"
    secret_key = "hidden"
    region     = var.region
  }`;
  expect(backendOf({ "main.tf": `terraform {\n${block}\n}` })).toEqual({
    type: "s3",
    place: { bucket: "states", key: "app/terraform.tfstate" },
  });
});

it("hides the user and the query of an address", () => {
  const block = `backend "http" { address = "https://ann:pw@host/state?token=x" }`;
  expect(backendOf({ "main.tf": `terraform {\n${block}\n}` })).toEqual({
    type: "http",
    place: { address: "https://host/state" },
  });
});

it("reads a cloud block with the name of its workspace, also from JSON", () => {
  const expected = { type: "cloud", place: { organization: "acme", name: "prod" } };
  const text = `terraform {\n cloud {\n  organization = "acme"\n  workspaces {\n   name = "prod"\n  }\n }\n}`;
  expect(backendOf({ "main.tf": text })).toEqual(expected);
  const json = {
    terraform: { cloud: { organization: "acme", workspaces: { name: "prod" } } },
  };
  expect(backendOf({ "main.tf.json": JSON.stringify(json) })).toEqual(expected);
});

it("takes the block of an override file", () => {
  const files = {
    "main.tf": `terraform {\n  backend "s3" {}\n}`,
    "backend_override.tf": `terraform {\n  backend "local" { path = "x.tfstate" }\n}`,
  };
  expect(backendOf(files)).toEqual({ type: "local", place: { path: "x.tfstate" } });
  expect(backendOf({ "main.tf": "terraform {}" })).toBeUndefined();
});

it("refuses variables in the arguments of a backend by name", () => {
  const text = 'terraform {\n  backend "local" {\n    path = var.path\n  }\n}';
  const { backend } = loadModule(new Map([["main.tofu", text]])).config;
  const found = backend && backendArguments(backend);
  expect(found?.diagnostics.map(({ summary }) => summary)).toEqual(["Variables not allowed"]);
});
