import { once } from "node:events";
import { mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Value } from "@stackwright/cty";
import { describe, expect, it, onTestFinished } from "vitest";
import { formerBackends } from "./former-backends.ts";

const STATE = '{"version":4,"outputs":{}}';

async function setUp() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "former-backends-"));
  onTestFinished(() => scratch.remove());
  const filesRoot = join(scratch.path, "bundle");
  const directory = join(filesRoot, "envs/prod");
  await mkdir(directory, { recursive: true });
  await writeFile(join(scratch.path, "outside.tfstate"), STATE);
  await writeFile(join(filesRoot, "shared.tfstate"), STATE);
  await symlink(join(scratch.path, "outside.tfstate"), join(directory, "link.tfstate"));
  const backends = formerBackends({ directory, env: {}, isIsolated: true, filesRoot });
  const read = async (type: string, settings: Readonly<Record<string, string>>) => {
    const backend = backends.find((one) => one.type === type);
    const given = new Map<string, Value>();
    for (const [name, { type: wanted }] of backend?.settings ?? []) {
      const text = settings[name];
      given.set(name, text === undefined ? Value.null(wanted) : Value.string(text));
    }
    return backend?.read(given, "default", {});
  };
  return { scratch: scratch.path, read };
}

describe("states that somebody else asks for", () => {
  it.each(["/etc/hostname", "/no/such/file", "../../../outside.tfstate", "link.tfstate"])(
    "are no files of this machine: %s",
    async (path) => {
      const { read } = await setUp();
      await expect(read("local", { path })).rejects.toThrow("leads out of the configuration");
    },
  );

  it("are files of the configuration, above the root module too", async () => {
    const { read } = await setUp();
    expect(await read("local", { path: "../../shared.tfstate" })).toEqual(Buffer.from(STATE));
    expect(await read("local", { path: "none.tfstate" })).toBeUndefined();
    await expect(read("local", { path: ".." })).rejects.toThrow("is not a file");
  });

  it("are not looked for at other hosts that a server redirects to", async () => {
    const { read } = await setUp();
    let port = 0;
    const server = createServer(({ url }, response) => {
      const to = { "/same": "/state", "/other": `http://localhost:${port}/state` }[url ?? ""];
      if (to === undefined) response.end(STATE);
      else response.writeHead(302, { location: to }).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    ({ port } = server.address() as AddressInfo);
    const address = `http://127.0.0.1:${port}`;
    expect(await read("http", { address: `${address}/same` })).toEqual(Buffer.from(STATE));
    await expect(read("http", { address: `${address}/other` })).rejects.toThrow(
      "redirected to another host, localhost",
    );
  });
});
