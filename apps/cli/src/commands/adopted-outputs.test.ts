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

  it("is found by its place in s3, which is not read any more", async () => {
    const server = await stateServer(WITH_OUTPUT);
    let reads = 0;
    server.onRead = () => {
      reads += 1;
      return undefined;
    };
    const endpoint = new URL("/", server.url).href;
    const place = `bucket = "states"
    key    = "app"
    region = "eu-west-1"
    skip_s3_checksum = true
    use_path_style   = true
    access_key = "canary-id"
    endpoints = { s3 = "${endpoint}" }`;
    const { run, path } = await folderWith({
      "main.tf": OUTPUT,
      "b.tf": `terraform {\n  backend "s3" {\n${place}\n  }\n}\n`,
      "reader/main.tf": reader("s3", `{\n${place}\n  }`),
    });
    const env = {
      STACKWRIGHT_STORE: `sqlite://${path("store.db")}`,
      STACKWRIGHT_KEY: "ab".repeat(32),
      AWS_SECRET_ACCESS_KEY: "canary-secret",
    };
    const ours = { ...env, STACKWRIGHT_STACK: "reader" };
    const plan = async (given: Readonly<Record<string, string>> = ours) =>
      run(["-chdir=reader", "plan"], given);
    const before = await plan();
    expect(before.output + before.error).toContain("found = 1");
    // And the lock beside it.
    expect(reads).toBe(2);
    const adopted = await run(["adopt", "--yes"], { ...env, STACKWRIGHT_STACK: "above" });
    expect(adopted.code, adopted.output + adopted.error).toBe(0);
    reads = 0;
    server.refuses = "GET";
    const after = await plan();
    expect(after.output + after.error).toContain("found = 1");
    expect(reads).toBe(0);
    // Another name in the bucket is another state.
    const other = readFileSync(path("reader/main.tf"), "utf8");
    writeFileSync(path("reader/main.tf"), other.replace('"app"', '"other"'));
    const refused = await plan();
    expect(refused.code).toBe(1);
    expect(refused.output + refused.error).toContain("s3 bucket states, key other");
    expect(refused.output + refused.error).not.toContain("canary");
    // A misspelled argument is not left out.
    writeFileSync(path("reader/main.tf"), other.replace("use_path_style", "use_path_stile"));
    const wrong = await plan();
    expect(wrong.output + wrong.error).toContain('"use_path_stile"');
  }, 120_000);
});
