import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { type BootstrapCredentials, serve } from "@stackwright/engine";
import { packTarball } from "@stackwright/provider-source";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const STACK = "/api/v1/projects/web/stacks/one";
const MAIN = 'resource "terraform_data" "a" { input = "x" }\n';

async function archive() {
  const content = Buffer.from(MAIN);
  const file = {
    path: "main.tf",
    size: content.byteLength,
    executable: false,
    content: async function* () {
      yield await Promise.resolve(content);
    },
  };
  return Uint8Array.from(await buffer(packTarball([file])));
}

it("runs of a backup continue at a server with the restored store: planned at once, applied once it is thawed", {
  timeout: 180_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "restored-runs-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "key"), Buffer.alloc(32, 1).toString("base64"));
  const start = async (store: string) => {
    const server = await serve(
      {
        store,
        port: 0,
        logLevel: "silent",
        executor: "in-process",
        keyFile: join(cwd, "key"),
        bootstrapFile: join(cwd, "first.json"),
      },
      { directory: cwd, env: {} },
    );
    const first = JSON.parse(
      await readFile(join(cwd, "first.json"), "utf8"),
    ) as BootstrapCredentials;
    const call = async (method: string, path: string, body?: object | Uint8Array<ArrayBuffer>) => {
      const isBytes = body instanceof Uint8Array;
      const answer = await fetch(server.url + path, {
        method,
        headers: {
          authorization: `Bearer ${first.token}`,
          ...(body !== undefined && {
            "content-type": isBytes ? "application/gzip" : "application/json",
          }),
        },
        ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
      });
      return (await answer.json()) as Record<string, unknown>;
    };
    const reaches = async (run: string, phase: string) =>
      expect.poll(async () => (await call("GET", run))["phase"], { timeout: 60_000 }).toBe(phase);
    return { server, call, reaches };
  };

  const { server, call, reaches } = await start("sqlite:data");
  await call("POST", "/api/v1/projects/web/stacks", { name: "one" });
  const { digest } = await call("POST", `${STACK}/configurations`, await archive());
  const runs: string[] = [];
  for (let count = 0; count < 2; count += 1) {
    const { id } = await call("POST", `${STACK}/runs`, { configuration: digest });
    runs.push(`${STACK}/runs/${String(id)}`);
  }
  const [waiting = "", queued = ""] = runs;
  await reaches(waiting, "awaiting_approval");
  const command = async (...words: string[]) => tryCommand(words, { cwd, env: {} });
  expect((await command("store", "backup", "b", "--store", "sqlite:data")).code).toBe(0);
  // What happens after the backup is not in it.
  const { plan_digest: plan } = await call("GET", waiting);
  await call("POST", `${waiting}/approvals`, { plan_digest: plan });
  await reaches(waiting, "applied");
  await server.close();

  const restored = await command("store", "restore", "b", "--store", "sqlite:other");
  expect(restored).toMatchObject({ code: 0, error: "" });
  expect(restored.output).toContain("Frozen projects, as what exists may be newer than the backup");
  expect(restored.output).toContain(" backup: default/web.\n");
  const next = await start("sqlite:other");
  onTestFinished(() => next.server.close());
  expect(await next.call("GET", waiting)).toMatchObject({
    phase: "awaiting_approval",
    plan_digest: plan,
  });
  expect((await next.call("GET", queued))["phase"]).toBe("queued");
  await next.call("POST", `${waiting}/approvals`, { plan_digest: plan });
  const freeze = "/api/v1/projects/web/freeze";
  expect(await next.call("GET", freeze)).toMatchObject({
    actor: "admin restore",
    reason: expect.stringContaining("restored from the backup b"),
  });
  await next.reaches(waiting, "approved");
  await next.server.close();
  expect((await command("store", "backup", "c", "--store", "sqlite:other")).code).toBe(0);
  const thaw = async () => command("admin", "thaw", "--store", "sqlite:other");
  expect(await thaw()).toMatchObject({
    code: 0,
    output: expect.stringContaining("not frozen any longer: default/web"),
  });
  expect((await thaw()).output).toContain("no project is frozen by a restore");
  const thawed = await start("sqlite:other");
  onTestFinished(() => thawed.server.close());
  await thawed.reaches(waiting, "applied");
  await thawed.reaches(queued, "no_changes");

  const asItIs = await command("store", "restore", "b", "--no-freeze", "--store", "sqlite:third");
  expect(asItIs.output).not.toMatch(/frozen/i);
  const still = await command("store", "restore", "c", "--no-freeze", "--store", "sqlite:fourth");
  expect(still.output).toContain("Still frozen, by a restore before the backup: default/web.");
  const frozen = await start("sqlite:fourth");
  onTestFinished(() => frozen.server.close());
  expect((await frozen.call("GET", freeze))["reason"]).toBe(
    "the backup c has the project frozen by a restore before it: compare plans with what exists, then stackwright admin thaw",
  );
});
