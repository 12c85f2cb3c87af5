import { appendFile } from "node:fs/promises";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { CLOUD_HOST, startCloud } from "../testing/start-cloud.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const PROVIDER = process.env["TEST_TOOL_TERRAFORM_PROVIDER_TFE"] ?? "";

/** Has commands of a root use the provider as it is built here. */
async function useProvider(env: Readonly<Record<string, string>>): Promise<void> {
  await appendFile(
    env["TF_CLI_CONFIG_FILE"] ?? "",
    `provider_installation {\n  dev_overrides { "hashicorp/tfe" = "${dirname(PROVIDER)}" }\n  direct {}\n}\n`,
  );
}

const SETTINGS = `
terraform {
  required_providers {
    tfe = { source = "hashicorp/tfe" }
  }
}
provider "tfe" {
  hostname     = "${CLOUD_HOST}"
  organization = "default"
}
`;

it("the provider hashicorp/tfe makes sets with variables, attaches them, changes them, and finds no difference", async (context) => {
  context.skip(PROVIDER === "", "TEST_TOOL_TERRAFORM_PROVIDER_TFE is not set");
  const { root, call, workspace } = await startCloud(COMMAND);
  const id = await workspace("shop", "local");
  const configure = async (value: string, description: string, attached: string): Promise<void> =>
    root.write(`${SETTINGS}
resource "tfe_variable_set" "shared" {
  name        = "shared"
  description = "${description}"
}
resource "tfe_variable" "region" {
  key             = "region"
  value           = "${value}"
  category        = "terraform"
  description     = "d"
  variable_set_id = tfe_variable_set.shared.id
}
resource "tfe_variable" "token" {
  key             = "TOKEN"
  value           = "s3cret"
  category        = "env"
  sensitive       = true
  variable_set_id = tfe_variable_set.shared.id
}
${attached}`);
  const workspaceSet = `
resource "tfe_workspace_variable_set" "shop" {
  variable_set_id = tfe_variable_set.shared.id
  workspace_id    = "${id}"
}
`;
  const projectSet = `
resource "tfe_project_variable_set" "default" {
  variable_set_id = tfe_variable_set.shared.id
  project_id      = "prj-default"
}
`;
  await useProvider(root.env);
  await configure("north", "first", workspaceSet);
  await root.ok("apply", "-auto-approve");
  const effective = "/api/v1/projects/default/stacks/shop/effective-variables";
  expect((await call("GET", effective)).json["variables"]).toMatchObject([
    { key: "region", value: "north", description: "d" },
    { key: "TOKEN", sensitive: true, set: "shared", scope: "account" },
  ]);
  await root.ok("plan", "-detailed-exitcode");
  await configure("south", "second", workspaceSet + projectSet);
  await root.ok("apply", "-auto-approve");
  await root.ok("plan", "-detailed-exitcode");
  expect((await call("GET", "/api/v1/variable-sets/shared")).json).toMatchObject({
    description: "second",
    stacks: ["default/shop", "default/*"],
    variables: [{ key: "TOKEN" }, { key: "region", value: "south" }],
  });
  await root.ok("destroy", "-auto-approve");
  expect((await call("GET", "/api/v1/variable-sets")).json["sets"]).toEqual([]);
});

it("the provider hashicorp/tfe has variables of a workspace that it finds by its name, and imports them", async (context) => {
  context.skip(PROVIDER === "", "TEST_TOOL_TERRAFORM_PROVIDER_TFE is not set");
  const { root, call, workspace } = await startCloud(COMMAND);
  await workspace("shop", "local");
  const configure = async (value: string): Promise<void> =>
    root.write(`${SETTINGS}
data "tfe_workspace" "shop" {
  name = "shop"
}
resource "tfe_variable" "region" {
  key          = "region"
  value        = "${value}"
  category     = "terraform"
  workspace_id = data.tfe_workspace.shop.id
}
resource "tfe_variable" "token" {
  key          = "TOKEN"
  value        = "s3cret"
  category     = "env"
  sensitive    = true
  workspace_id = data.tfe_workspace.shop.id
}
`);
  await useProvider(root.env);
  const found = async () =>
    (await call("GET", "/api/v1/projects/default/stacks/shop/variables")).json["variables"];
  await configure("north");
  await root.ok("apply", "-auto-approve");
  expect(await found()).toMatchObject([
    { key: "TOKEN", sensitive: true },
    { key: "region", value: "north" },
  ]);
  await root.ok("plan", "-detailed-exitcode");
  await configure("south");
  await root.ok("apply", "-auto-approve");
  await root.ok("plan", "-detailed-exitcode");
  expect(await found()).toMatchObject([{ key: "TOKEN" }, { key: "region", value: "south" }]);
  const id = (await root.ok("state", "show", "tfe_variable.region")).match(
    / id += "(var-\w+)"/,
  )?.[1];
  await root.ok("state", "rm", "tfe_variable.region");
  await root.ok("import", "tfe_variable.region", `default/shop/${id}`);
  await root.ok("plan", "-detailed-exitcode");
  await root.ok("destroy", "-auto-approve");
  expect(await found()).toEqual([]);
});

it("the provider hashicorp/tfe finds a set attached by the shorter id of a workspace alone, and takes that in the place of the longer one", async (context) => {
  context.skip(PROVIDER === "", "TEST_TOOL_TERRAFORM_PROVIDER_TFE is not set");
  const { root, call, workspace } = await startCloud(COMMAND);
  const shorter = await workspace("shop", "local");
  const stack = (await call("GET", "/api/v1/projects/default/stacks/shop")).json;
  const longer = `ws-${String(stack["id"])}`;
  const configure = async (id: string): Promise<void> =>
    root.write(`${SETTINGS}
resource "tfe_variable_set" "shared" {
  name = "shared"
}
resource "tfe_workspace_variable_set" "shop" {
  variable_set_id = tfe_variable_set.shared.id
  workspace_id    = "${id}"
}
`);
  await useProvider(root.env);
  await configure(longer);
  // It is attached, and the provider does not find the id that was written.
  expect(await root.fails("apply", "-auto-approve")).toContain("present, but now absent");
  const attached = async () => (await call("GET", "/api/v1/variable-sets/shared")).json["stacks"];
  expect(await attached()).toEqual(["default/shop"]);
  await configure(shorter);
  await root.ok("apply", "-auto-approve");
  await root.ok("plan", "-detailed-exitcode");
  expect(await attached()).toEqual(["default/shop"]);
});
