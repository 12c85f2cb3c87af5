import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { serve } from "./serve.ts";
import type { ServerOptions } from "./server-options.ts";
import { P, S, startApi } from "./testing/start-api.ts";
import { tarOf } from "./testing/tar-of.ts";

const MAIN = 'variable "word" { default = "" }\nresource "terraform_data" "a" { input = "x" }\n';

it("a server without the key of the store ends what needs it with key_unavailable, and works on", {
  timeout: 180_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "missing-key-"));
  onTestFinished(() => scratch.remove());
  const [right, wrong] = [join(scratch.path, "right"), join(scratch.path, "wrong")];
  await writeFile(right, Buffer.alloc(32, 1).toString("base64"));
  await writeFile(wrong, Buffer.alloc(32, 2).toString("base64"));
  const options: ServerOptions = {
    store: `sqlite:${join(scratch.path, "data")}`,
    port: 0,
    logLevel: "silent",
    executor: "in-process",
  };
  const { server, first, call } = await startApi("in-process", { ...options, keyFile: right });
  for (const name of ["one", "two"]) await call("POST", `${P}/stacks`, { body: { name } });
  const body = { value: "canary", sensitive: true };
  expect((await call("PUT", `${S}/variables/terraform/word`, { body })).status).toBe(201);
  await call("GET", "/.well-known/jwks");
  await server.close();

  /** What a server with a key makes of a run of a stack, and what it says of its keys. */
  const planBy = async (keyFile: string, stacks: readonly string[]) => {
    await using next = await serve({ ...options, keyFile });
    const headers = { authorization: `Bearer ${first.token}` };
    const post = async (path: string, type: string, sent: string | Uint8Array<ArrayBuffer>) => {
      const given = { ...headers, "content-type": type };
      const answer = await fetch(next.url + path, { method: "POST", headers: given, body: sent });
      return (await answer.json()) as Record<string, unknown>;
    };
    const get = async (path: string) =>
      (await (await fetch(next.url + path, { headers })).json()) as Record<string, unknown>;
    const ends: unknown[] = [];
    for (const stack of stacks) {
      const runs = `${P}/stacks/${stack}`;
      const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": MAIN })));
      const { digest } = await post(`${runs}/configurations`, "application/gzip", archive);
      const requested = JSON.stringify({ configuration: digest, mode: "plan_only" });
      const { id } = await post(`${runs}/runs`, "application/json", requested);
      const shown = async () => get(`${runs}/runs/${String(id)}`);
      await expect
        .poll(async () => (await shown())["phase"], { timeout: 60_000 })
        .toMatch(/^(?:failed|plan_finished)$/);
      const { phase, reason_code: code } = await shown();
      ends.push([phase, code]);
    }
    const { findings } = await get("/api/v1/doctor");
    const codes = (findings as readonly { readonly code: string }[]).map((one) => one.code);
    return { ends, codes: codes.filter((code) => code.startsWith("key_")) };
  };
  expect(await planBy(wrong, ["one", "two"])).toEqual({
    ends: [
      ["failed", "key_unavailable"],
      ["plan_finished", undefined],
    ],
    codes: ["key_unavailable"],
  });
  expect((await planBy(right, ["one"])).ends).toEqual([["plan_finished", undefined]]);
});
