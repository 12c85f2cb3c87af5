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

const REPOSITORY = { type: "git", url: "git+https://code.acme.org/acme/tool.git" };

/** Packs packages into a folder. */
async function pack(folder: string, manifests: readonly object[]): Promise<void> {
  for (const [at, manifest] of manifests.entries()) {
    const source = join(folder, `${at}`);
    mkdirSync(join(source, "package"), { recursive: true });
    writeFileSync(join(source, "package/package.json"), JSON.stringify(manifest));
    await requireCommand(["tar", "-czf", join(folder, `${at}.tgz`), "-C", source, "package"]);
  }
}

async function publishTo(url: string, folder: string, token: string) {
  return runCommand([SCRIPT, folder], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      NPM_CONFIG_REGISTRY: url,
      NPM_CONFIG_UPDATE_NOTIFIER: "false",
      NODE_AUTH_TOKEN: token,
    },
    timeoutMs: 120_000,
  });
}

it("publishes nothing where one of the packages names no repository", async () => {
  await using server = await registry();
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-publish-"));
  await pack(scratch.path, [
    { name: "@example/a", version: "1.0.0", repository: REPOSITORY },
    { name: "@example/b", version: "1.0.0" },
  ]);
  const { code, stderr } = await publishTo(server.url, scratch.path, "secret");
  expect(code).toBe(1);
  expect(stderr).toContain('1.tgz: names no repository; set "repository" in package.json');
  expect(server.taken.size).toBe(0);
});

it("publishes what the registry does not have, signed in by the token", async () => {
  await using server = await registry();
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-publish-"));
  const manifest = { version: "1.0.0", repository: REPOSITORY };
  await pack(
    scratch.path,
    ["a", "b"].map((name) => ({ ...manifest, name: `@example/${name}` })),
  );
  const publish = async (token: string) => publishTo(server.url, scratch.path, token);
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
