import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { StorageBackend } from "@stackwright/storage";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { serve } from "../serve.ts";
import { tarOf } from "../testing/tar-of.ts";

/** A server with a run that waits for a worker, and its stream of events for a reader. */
async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "events-"));
  onTestFinished(() => scratch.remove());
  const file = join(scratch.path, "first.json");
  let storage: StorageBackend | undefined;
  const server = await serve(
    { store: "memory:", port: 0, bootstrapFile: file, logLevel: "silent", executor: "none" },
    {
      directory: scratch.path,
      env: {},
      plugins: ({ store }) => {
        storage = store.storage;
        return [];
      },
    },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(file, "utf8")) as BootstrapCredentials;
  const project = `${server.url}/api/v1/projects/web`;
  const post = async (path: string, body: object | Uint8Array<ArrayBuffer>, as = token) => {
    const isBytes = body instanceof Uint8Array;
    const type = isBytes ? "application/gzip" : "application/json";
    const answer = await fetch(project + path, {
      method: "POST",
      headers: { authorization: `Bearer ${as}`, "content-type": type },
      body: isBytes ? body : JSON.stringify(body),
    });
    return { status: answer.status, json: (await answer.json()) as Record<string, string> };
  };
  await post("/stacks", { name: "one" });
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": "" })));
  const { digest = "" } = (await post("/stacks/one/configurations", archive)).json;
  const { id = "" } = (await post("/stacks/one/runs", { configuration: digest })).json;
  const roles = ["deployer" as const];
  const reader = await server.credentials.createToken({ account: "default", roles });
  const follow = async (init: RequestInit = {}, query = "") =>
    fetch(`${project}/stacks/one/runs/${id}/events${query}`, {
      ...init,
      headers: { authorization: `Bearer ${reader.token}` },
    });
  if (storage === undefined) throw new Error("no store");
  return { server, storage, post, follow, reader, run: id };
}

/** Whether a stream ends, in whatever way, within five seconds. */
async function ends(stream: Promise<Response>): Promise<boolean> {
  const over = stream
    .then((answer) => answer.text())
    .then(
      () => true,
      () => true,
    );
  const late = new Promise<boolean>((resolve) => {
    setTimeout(() => resolve(false), 5_000).unref();
  });
  return Promise.race([over, late]);
}

it("a stream ends when the token of its reader is revoked", async () => {
  const { server, follow, reader } = await start();
  const stream = await follow();
  expect(stream.status).toBe(200);
  await server.credentials.revoke(reader.tokenId);
  expect(await ends(Promise.resolve(stream))).toBe(true);
  expect((await follow()).status).toBe(401);
});

it("a stream whose events cannot be read is closed", async () => {
  const { storage, follow } = await start();
  const type = SERVER_KINDS.segment.type;
  const anywhere = { partition: "default", peerName: "*", namespace: "*" };
  const [first] = await storage.list("strong", type, anywhere, "");
  if (first === undefined) throw new Error("no segment");
  const data = { typeUrl: "damaged", value: new Uint8Array() };
  await storage.writeCAS({ ...first, data });
  expect(await ends(follow())).toBe(true);
});

it("only an administrator ends a run at once", async () => {
  const { post, reader, run } = await start();
  const path = `/stacks/one/runs/${run}/cancel`;
  const refused = await post(path, { force: true }, reader.token);
  expect([refused.status, refused.json["code"]]).toEqual([403, "forbidden"]);
  expect((await post(path, {}, reader.token)).status).toBe(200);
});

it("a request for the head of a stream does not wait for the run", async () => {
  const { follow } = await start();
  const answer = await follow({ method: "HEAD", signal: AbortSignal.timeout(4_000) });
  expect(answer.status).toBe(404);
});

it.each(["1e300", "1000000000000000", "-1", "0.5"])("refuses to follow after %s", async (after) => {
  const { follow } = await start();
  const answer = await follow({}, `?after=${after}`);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toContain("after");
});

it("follows after the highest sequence number that there can be", async () => {
  const { follow } = await start();
  const answer = await follow({}, "?after=999999999999999&follow=false");
  expect([answer.status, await answer.text()]).toEqual([200, "retry: 2000\n\n"]);
});
