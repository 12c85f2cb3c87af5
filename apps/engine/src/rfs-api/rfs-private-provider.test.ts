import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { expect, it, onTestFinished, vi } from "vitest";
import { officialClient } from "../testing/official-client.ts";
import { startApi } from "../testing/start-api.ts";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;
const SOURCE = "huawei.com/private-provider/notes";
const STACK = "/v1/{project_id}/stacks/{stack_name}";
const POLL = { timeout: 60_000, interval: 50 };

/** A provider of notes that lie in a folder; it keeps none that says `refused`. */
function notes(folder: string) {
  const write = async (name?: string | null, text?: string | null) => {
    if (text === "refused") throw new Error("the note is refused");
    await writeFile(join(folder, `${name}.txt`), text ?? "");
  };
  const note = defineResource({
    attributes: {
      id: computed(types.string, { stable: true }),
      name: required(types.string, { replaces: true }),
      text: required(types.string),
    },
    create: async ({ name, text }) => {
      await write(name, text);
      return { id: name ?? "" };
    },
    update: async ({ name, text }) => {
      await write(name, text);
      return {};
    },
    delete: async ({ name }) => rm(join(folder, `${name}.txt`), { force: true }),
  });
  return createProvider({
    config: {},
    configure: () => undefined,
    resources: { notes_note: note },
  });
}

const RESOURCES = `
variable "text" { type = string }
resource "notes_note" "a" {
  name = "one"
  text = "first \${var.text}"
}
resource "notes_note" "b" {
  name       = "two"
  text       = var.text
  depends_on = [notes_note.a]
}
output "id" { value = notes_note.b.id }
`;
const HCL = `Provider "notes" {\n  source = "${SOURCE}"\n  version = "1.0.0"\n}\n${RESOURCES}`;
const JSON_TEMPLATE = JSON.stringify({
  terraform: { required_providers: [{ notes: { source: SOURCE, version: "1.0.0" } }] },
  variable: { text: { type: "string" } },
  resource: {
    notes_note: {
      a: { name: "one", text: "first ${var.text}" },
      b: { name: "two", text: "${var.text}", depends_on: ["notes_note.a"] },
    },
  },
  output: { id: { value: "${notes_note.b.id}" } },
});

it("registers a provider in a function, deploys, updates, rolls back and deletes by the official client alone", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "rfs-notes-"));
  onTestFinished(() => scratch.remove());
  const folder = join(scratch.path, "notes");
  await mkdir(folder);
  const runner = createLifecycleRunner({ name: "notes", create: () => notes(folder) });
  const host = await serveFunction({ runner, port: 0 });
  onTestFinished(async () => host.close());
  const functionsFile = join(scratch.path, "functions.json");
  const table = {
    projects: [PROJECT],
    functions: { [URN]: { url: host.url } },
    networks: ["127.0.0.0/8"],
  };
  await writeFile(functionsFile, JSON.stringify(table));
  const { server } = await startApi("in-process", { functionsFile });
  const key = await server.credentials.createKey({ account: "default", roles: ["admin"] });
  const send = await officialClient({ endpoint: server.url, project: "web", ...key });
  const quiet = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => quiet.mockRestore());
  const at = { stack_name: "board" };
  const get = async (part: string) =>
    send({ method: "GET", url: `${STACK}/${part}`, pathParams: at });
  const reaches = async (status: string) =>
    vi.waitFor(async () => {
      const found = await get("metadata");
      expect([found["status"], found["status_message"]]).toEqual([status, expect.anything()]);
      return found;
    }, POLL);
  const deploy = async (template: string, text: string) =>
    send({
      method: "POST",
      url: `${STACK}/deployments`,
      pathParams: at,
      data: { template_body: template, vars_structure: [{ var_key: "text", var_value: text }] },
    });
  const noteOf = async (name: string) => readFile(join(folder, `${name}.txt`), "utf8");

  await send({
    method: "POST",
    url: "/v1/private-providers",
    data: { provider_name: "notes", provider_version: "1.0.0", function_graph_urn: URN },
  });
  await send({
    method: "POST",
    url: "/v1/{project_id}/stacks",
    data: {
      ...at,
      enable_auto_rollback: true,
      template_body: HCL,
      vars_structure: [{ var_key: "text", var_value: "hello" }],
    },
  });
  await reaches("DEPLOYMENT_COMPLETE");
  expect([await noteOf("one"), await noteOf("two")]).toEqual(["first hello", "hello"]);
  expect((await get("outputs"))["outputs"]).toMatchObject([{ name: "id", value: "two" }]);

  await deploy(JSON_TEMPLATE, "bye");
  await reaches("DEPLOYMENT_COMPLETE");
  expect([await noteOf("one"), await noteOf("two")]).toEqual(["first bye", "bye"]);

  await deploy(HCL, "refused");
  const back = await reaches("ROLLBACK_COMPLETE");
  expect(back["status_message"]).toContain("failed");
  expect([await noteOf("one"), await noteOf("two")]).toEqual(["first bye", "bye"]);

  await send({ method: "DELETE", url: STACK, pathParams: at });
  await vi.waitFor(
    async () => expect(get("metadata")).rejects.toMatchObject({ httpStatusCode: 404 }),
    POLL,
  );
  await expect(noteOf("one")).rejects.toThrow("ENOENT");
}, 180_000);
