import { writeFileSync } from "node:fs";
import { encryptedBackend, openBackend } from "@stackwright/tfstate/backend";
import { expect, it } from "vitest";
import { folderWith, STATE } from "../testing/adoption-folder.ts";

const CANARY = "canary-passphrase";
const STATE_WITH_OUTPUT = STATE.replace(
  '"outputs":{}',
  '"outputs":{"size":{"value":1,"type":"number"}}',
);

/** How OpenTofu is told to encrypt. The passphrase is a variable, as users have it. */
const KEYS = `
variable "passphrase" {
  type      = string
  sensitive = true
}
terraform {
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = var.passphrase
      iterations = 200000
    }
    method "aes_gcm" "m" {
      keys = key_provider.pbkdf2.k
    }
    method "unencrypted" "u" {}
    REMOTE
  }
}
`;

const READER = `
data "terraform_remote_state" "network" {
  backend = "local"
  config  = { path = "network/terraform.tfstate" }
}
output "found" {
  value = data.terraform_remote_state.network.outputs.size
}
`;

const encryption = (remote: string): string =>
  `${KEYS.replace("REMOTE", `remote_state_data_sources {\n${remote}\n}`)}${READER}`;

it("terraform_remote_state reads a state that OpenTofu encrypts, as the configuration says for it", async () => {
  const { run, path } = await folderWith({
    "main.tf": encryption("default {\n  method = method.aes_gcm.m\n}"),
    "network/terraform.tfstate": "",
  });
  const key = {
    type: "pbkdf2",
    name: "k",
    values: { passphrase: CANARY, iterations: 200_000 },
    references: new Map(),
  };
  const method = {
    type: "aes_gcm",
    name: "m",
    values: {},
    references: new Map([["keys", "key_provider.pbkdf2.k"]]),
  };
  const at = { type: "local", values: { path: path("network/terraform.tfstate") } };
  const write = async (methods: readonly string[]): Promise<void> => {
    writeFileSync(path("network/terraform.tfstate"), "");
    const plain = await openBackend(at, { directory: path("."), env: {} });
    await using backend = encryptedBackend(plain, () => ({
      keyProviders: new Map([["key_provider.pbkdf2.k", key]]),
      methods: new Map([["method.aes_gcm.m", method]]),
      state: methods,
    }));
    await backend.write("default", Buffer.from(STATE_WITH_OUTPUT));
  };
  const plan = async (passphrase = CANARY) => {
    const done = await run(["plan"], { TF_VAR_passphrase: passphrase });
    const text = done.output + done.error;
    expect(text).not.toContain(CANARY);
    return { code: done.code, text };
  };
  const says = (remote: string): void => writeFileSync(path("main.tf"), encryption(remote));

  await write(["method.aes_gcm.m"]);
  expect((await plan()).text).toContain("found = 1");
  const wrong = await plan("another one, which is wrong");
  expect([wrong.code, wrong.text.includes("cannot be decrypted")]).toEqual([1, true]);
  says('remote_state_data_source "network" {\n  method = method.aes_gcm.m\n}');
  expect((await plan()).text).toContain("found = 1");
  // What is said of another one is not said of this one.
  says('remote_state_data_source "other" {\n  method = method.aes_gcm.m\n}');
  const other = await plan();
  expect([other.code, other.text.includes("no method is configured")]).toEqual([1, true]);

  // A state in the clear is read only where that may be: somebody may have put it there.
  await write([]);
  expect((await plan()).text).toContain("found = 1");
  says("default {\n  method = method.aes_gcm.m\n}");
  const replaced = await plan();
  expect([replaced.code, replaced.text.includes("is not encrypted")]).toEqual([1, true]);
  says(
    "default {\n  method = method.aes_gcm.m\n  fallback {\n    method = method.unencrypted.u\n  }\n}",
  );
  expect((await plan()).text).toContain("found = 1");
}, 60_000);
