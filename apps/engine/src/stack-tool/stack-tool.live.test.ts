import { spawnSync } from "node:child_process";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { providerMirror } from "../testing/provider-mirror.ts";
import { startServerProcess } from "../testing/start-server-process.ts";
import { tarOf } from "../testing/tar-of.ts";

const MAIN = join(import.meta.dirname, "../main.ts");
const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "/usr/local/bin/terraform";
const STACK = "/api/v1/projects/default/stacks/one";
const CANARY = "canary-4711";

/** Of a folder that outlives the folders of runs. */
const configurationIn = (folder: string): string => `
terraform {
  backend "s3" { bucket = "elsewhere" }
  required_providers {
    null   = { source = "hashicorp/null" }
    random = { source = "hashicorp/random" }
    local  = { source = "hashicorp/local" }
  }
}
variable "word" { type = string }
variable "counts" { type = list(number) }
resource "random_pet" "a" { length = var.counts[0] }
resource "null_resource" "b" { triggers = { pet = random_pet.a.id } }
resource "local_file" "c" {
  filename = "${folder}/c.txt"
  content  = random_pet.a.id
}
resource "local_sensitive_file" "d" {
  filename = "${folder}/d.txt"
  content  = var.word
}
output "pet" { value = random_pet.a.id }
output "word" {
  value     = var.word
  sensitive = true
}
output "place" { value = terraform.workspace }
`;

interface Answer {
  readonly status: number;
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
}

describe("a stack with a tool", { timeout: 180_000 }, () => {
  let folder: string;
  let config: string;

  beforeEach(async (context) => {
    const { status } = spawnSync(TERRAFORM, ["version"]);
    context.skip(status !== 0, `${TERRAFORM} cannot be run on this machine`);
    const scratch = await mkdtempDisposable(join(tmpdir(), "stack-tool-"));
    onTestFinished(() => scratch.remove());
    folder = scratch.path;
    const file = await providerMirror(folder);
    context.skip(file === undefined, "the builds of the providers are not given");
    config = file ?? "";
  });

  async function start(tool = TERRAFORM) {
    const args = ["--store", "sqlite:data", "--bootstrap-file", "first.json"];
    const more = ["--tool", `terraform=${tool}`, "--run-stop-seconds", "1"];
    const server = await startServerProcess(MAIN, [...args, ...more], {
      cwd: folder,
      env: { TF_CLI_CONFIG_FILE: config, SECRET_OF_SERVER: CANARY },
    });
    const { token } = JSON.parse(
      await readFile(join(folder, "first.json"), "utf8"),
    ) as BootstrapCredentials;
    const call = async (
      method: string,
      path: string,
      body?: object | Uint8Array<ArrayBuffer>,
    ): Promise<Answer> => {
      const isBytes = body instanceof Uint8Array;
      const answer = await fetch(server.url + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && {
            "content-type": isBytes ? "application/gzip" : "application/json",
          }),
        },
        ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
      });
      const text = await answer.text();
      const json = text.startsWith("{") ? (JSON.parse(text) as Answer["json"]) : {};
      return { status: answer.status, json, text };
    };
    const ok = async (...given: Parameters<typeof call>): Promise<Answer> => {
      const answer = await call(...given);
      expect([given[0], given[1], answer.status, answer.status < 300 ? "" : answer.text]).toEqual([
        given[0],
        given[1],
        answer.status,
        "",
      ]);
      return answer;
    };
    const upload = async (files: Readonly<Record<string, string>>): Promise<string> => {
      const archive = Uint8Array.from(gzipSync(tarOf(files)));
      return String((await ok("POST", `${STACK}/configurations`, archive)).json["digest"]);
    };
    const run = async (configuration: string, phase: string, more: object = {}) => {
      const { json } = await ok("POST", `${STACK}/runs`, { configuration, ...more });
      return reaches(String(json["id"]), phase);
    };
    const reaches = async (id: string, phase: string): Promise<Answer["json"]> => {
      const path = `${STACK}/runs/${id}`;
      const rests = ["awaiting_approval", "applied", "no_changes", "failed", "partially_applied"];
      const isAtRest = async () => rests.includes(String((await ok("GET", path)).json["phase"]));
      const isThere = async () => (await ok("GET", path)).json["phase"] === phase || isAtRest();
      await expect.poll(isThere, { timeout: 60_000, interval: 200 }).toBe(true);
      // An approved run is still at rest for a moment.
      await expect
        .poll(async () => (await ok("GET", path)).json["phase"], { timeout: 20_000 })
        .toBe(phase);
      return (await ok("GET", path)).json;
    };
    const log = async (id: unknown) => (await ok("GET", `${STACK}/runs/${String(id)}/events`)).text;
    return { ...server, call, ok, upload, run, reaches, log };
  }

  it("plans and applies by terraform, is compared, and switches both ways with empty plans", async () => {
    const { ok, call, upload, run, reaches, log } = await start();
    await ok("POST", "/api/v1/projects/default/stacks", { name: "one" });
    await ok("PATCH", `${STACK}/tool`, { tool: "terraform", shadow: true, adopt_after: 2 });
    for (const [key, value, sensitive] of [
      ["word", CANARY, true],
      ["counts", "[2]", false],
    ] as const) {
      await ok("PUT", `${STACK}/variables/terraform/${key}`, { value, sensitive });
    }
    const text = configurationIn(folder);
    const bundle = await upload({ "main.tf": text });
    const refused = await run(bundle, "failed");
    expect(refused["reason"]).toContain("has a Terraform state that was not adopted");
    const configuration = await upload({
      "main.tf": text.replace(/backend "s3".*/, ""),
    });
    const planned = await run(configuration, "awaiting_approval");
    const id = String(planned["id"]);
    const busy = await call("PATCH", `${STACK}/tool`, { tool: "stackwright" });
    expect([busy.status, busy.text]).toEqual([409, expect.stringContaining("is in progress")]);
    const view = await ok("GET", `${STACK}/runs/${id}/plan/rendered?form=text`);
    expect(view.text).toContain("random_pet.a");
    const document = await ok("GET", `${STACK}/runs/${id}/plan`);
    expect(document.json["summary"]).toMatchObject({ create: 4 });
    await ok("POST", `${STACK}/runs/${id}/approvals`, { plan_digest: planned["plan_digest"] });
    await reaches(id, "applied");
    const lines = await log(id);
    expect(lines).toContain("Apply complete! Resources: 4 added");
    for (const shown of [view.text, document.text, lines]) expect(shown).not.toContain(CANARY);
    const again = await run(configuration, "no_changes");
    const compared = async (of: unknown) =>
      (await call("GET", `${STACK}/runs/${String(of)}/comparison`)).json;
    for (const one of [id, again["id"]]) {
      await expect
        .poll(async () => (await compared(one))["outcome"], { timeout: 60_000 })
        .not.toBe("pending");
      const { outcome, differences, reason } = await compared(one);
      expect({ outcome, differences, reason }).toEqual({ outcome: "equal", differences: [] });
    }
    expect((await ok("GET", `${STACK}/tool`)).json).toMatchObject({
      tool: "terraform",
      equal_in_a_row: 2,
      can_adopt: true,
    });
    const adopted = await ok("PATCH", `${STACK}/tool`, { tool: "stackwright" });
    expect(adopted.json).toMatchObject({ tool: "stackwright", shadow: false });
    const engine = await run(configuration, "no_changes");
    expect(engine["tool"]).toBe("stackwright");
    await ok("PATCH", `${STACK}/tool`, { tool: "terraform" });
    const back = await run(configuration, "no_changes");
    expect(back["tool"]).toBe("terraform");
    await run(configuration, "awaiting_approval", { mode: "destroy" });
  });
});
