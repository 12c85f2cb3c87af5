import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireCommand, runCommand } from "@stackwright-tools/processes";
import { expect, it } from "vitest";

const SCRIPT = join(import.meta.dirname, "../publish-packages.sh");

/** A registry that takes what is sent with the token, and knows what it has. */
async function registry() {
  const taken = new Map<string, { readonly authorization: string | undefined }>();
  const server = createServer((request, response) => {
    const name = decodeURIComponent((request.url ?? "").slice(1)).replace(/\?.*$/, "");
    let text = "";
    request.on("data", (chunk) => {
      text += String(chunk);
    });
    request.on("end", () => {
      const { authorization } = request.headers;
      if (request.method === "PUT") {
        if (authorization === "Bearer secret") taken.set(name, { authorization });
        response.writeHead(authorization === "Bearer secret" ? 201 : 401).end("{}");
        return;
      }
      const version = { name, version: "1.0.0", dist: { tarball: "", integrity: "" } };
      const found = { name, "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } };
      response
        .writeHead(taken.has(name) ? 200 : 404, { "content-type": "application/json" })
        .end(JSON.stringify(taken.has(name) ? found : { error: "not found" }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return {
    taken,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

it("publishes what the registry does not have, signed in by the token", async () => {
  await using server = await registry();
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-publish-"));
  for (const name of ["a", "b"]) {
    const folder = join(scratch.path, name, "package");
    mkdirSync(folder, { recursive: true });
    const manifest = { name: `@example/${name}`, version: "1.0.0" };
    writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
    const archive = join(scratch.path, `${name}.tgz`);
    await requireCommand(["tar", "-czf", archive, "-C", join(scratch.path, name), "package"]);
  }
  const publish = (token: string) =>
    runCommand([SCRIPT, scratch.path], {
      cwd: scratch.path,
      env: {
        PATH: process.env["PATH"],
        HOME: scratch.path,
        NPM_CONFIG_REGISTRY: server.url,
        NPM_CONFIG_UPDATE_NOTIFIER: "false",
        NODE_AUTH_TOKEN: token,
      },
      timeoutMs: 120_000,
    });
  expect(await publish("wrong")).not.toMatchObject({ code: 0 });
  expect(server.taken.size).toBe(0);
  const first = await publish("secret");
  expect(`${first.stdout}${first.stderr}`).toContain("@example/b@1.0.0: published\n");
  expect(first.code).toBe(0);
  expect([...server.taken.keys()]).toEqual(["@example/a", "@example/b"]);
  const again = await publish("secret");
  expect(again.stdout).toContain("@example/a@1.0.0: published already");
  expect(again.code).toBe(0);
}, 120_000);
