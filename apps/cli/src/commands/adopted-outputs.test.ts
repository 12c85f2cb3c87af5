import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { folderWith, RESOURCE, STATE, stateServer } from "../testing/adoption-folder.ts";

const OUTPUT = `${RESOURCE}output "size" {\n  value = terraform_data.a.output\n}\n`;
const WITH_OUTPUT = STATE.replace('"outputs":{}', '"outputs":{"size":{"value":1,"type":"number"}}');

/** A root module that reads the outputs of the one in the folder above, wherever it had its state. */
function reader(backend: string, config: string): string {
  return `data "terraform_remote_state" "above" {
  backend = "${backend}"
  config  = ${config}
}
output "found" {
  value = data.terraform_remote_state.above.outputs.size
}
`;
}

describe("terraform_remote_state of an adopted stack", () => {
  it.each(["local", "http"])(
    "with the backend %s has what its store has, after it changed there",
    async (backend) => {
      const server = await stateServer(WITH_OUTPUT);
      const config =
        backend === "local"
          ? '{ path = "../terraform.tfstate" }'
          : `{ address = ${JSON.stringify(server.url)} }`;
      const block = `terraform {\n  backend "http" {\n    address      = "${server.url}"\n    lock_address = "${server.url}"\n  }\n}\n`;
      const { run, path } = await folderWith({
        "main.tf": OUTPUT,
        ...(backend === "local" ? { "terraform.tfstate": WITH_OUTPUT } : { "b.tf": block }),
        "reader/main.tf": reader(backend, config),
      });
      const store = { STACKWRIGHT_STORE: `sqlite://${path("store.db")}` };
      const key = { STACKWRIGHT_KEY: "ab".repeat(32) };
      const env = { ...store, ...key };
      const above = { ...env, STACKWRIGHT_STACK: "above" };
      const ours = { ...env, STACKWRIGHT_STACK: "reader" };
      const ok = async (words: readonly string[], given: Readonly<Record<string, string>>) => {
        const done = await run(words, given);
        expect(done.code, done.output + done.error).toBe(0);
        return done;
      };
      const found = async (): Promise<unknown> => {
        await ok(["-chdir=reader", "up", "-y"], ours);
        return JSON.parse((await ok(["-chdir=reader", "output", "-json", "found"], ours)).output);
      };
      // Of the old place, as long as it was not adopted.
      expect(await found()).toBe(1);
      await ok(["adopt", "--yes"], above);
      expect(await found()).toBe(1);
      writeFileSync(path("main.tf"), readFileSync(path("main.tf"), "utf8").replace("1", "2"));
      await ok(["up", "-y"], above);
      expect(await found()).toBe(2);
      // What is read is part of the plan: it is stale when the stack publishes another value.
      writeFileSync(path("main.tf"), readFileSync(path("main.tf"), "utf8").replace("2", "3"));
      await ok(["up", "-y"], above);
      const saved = await ok(["-chdir=reader", "plan", "-out", "plan"], ours);
      expect(saved.output).toContain("3");
      writeFileSync(path("main.tf"), readFileSync(path("main.tf"), "utf8").replace("3", "4"));
      await ok(["up", "-y"], above);
      expect(await run(["-chdir=reader", "apply", "plan"], ours)).toMatchObject({ code: 1 });
      // The old place counts again after the way back.
      await ok(["hand-back", "--yes"], above);
      expect(await found()).toBe(4);
    },
    120_000,
  );

  it("names the stack where it is in another store", async () => {
    const { run } = await folderWith({
      "main.tf": OUTPUT,
      "terraform.tfstate": WITH_OUTPUT,
      "reader/main.tf": reader("local", '{ path = "../terraform.tfstate" }'),
    });
    expect(await run(["adopt", "--yes"])).toMatchObject({ code: 0 });
    const { code, output, error } = await run(["-chdir=reader", "plan"]);
    expect(code).toBe(1);
    expect(output + error).toContain('the state was adopted as the stack "default"');
  });
});
