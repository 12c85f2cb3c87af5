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

async function setUp(env: NodeJS.ProcessEnv = {}, maxRunBytes?: number) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "former-backends-"));
  onTestFinished(() => scratch.remove());
  const filesRoot = join(scratch.path, "bundle");
  const directory = join(filesRoot, "envs/prod");
  await mkdir(directory, { recursive: true });
  await writeFile(join(scratch.path, "outside.tfstate"), STATE);
  await writeFile(join(filesRoot, "shared.tfstate"), STATE);
  await symlink(join(scratch.path, "outside.tfstate"), join(directory, "link.tfstate"));
  const credentialsFolder = join(scratch.path, "tokens");
  const backends = formerBackends({
    directory,
    env,
    isIsolated: true,
    filesRoot,
    credentialsFolder,
    ...(maxRunBytes !== undefined && { maxRunBytes }),
  });
  const read = async (
    type: string,
    settings: Readonly<Record<string, string | Value>>,
    warn?: (detail: string) => void,
  ) => {
    const backend = backends.find((one) => one.type === type);
    const given = new Map<string, Value>();
    for (const [name, { type: wanted }] of backend?.settings ?? []) {
      const text = settings[name];
      given.set(name, typeof text === "string" ? Value.string(text) : (text ?? Value.null(wanted)));
    }
    return backend?.read(given, "default", { ...(warn && { warn }) });
  };
  return { scratch: scratch.path, directory, read };
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

  it("are bounded together, by whichever backends they are read", async () => {
    const { read } = await setUp({}, 2 * STATE.length);
    const readOne = async () => read("local", { path: "../../shared.tfstate" });
    await readOne();
    await readOne();
    await expect(readOne()).rejects.toThrow("states elsewhere");
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

describe("a state that an adoption has locked", () => {
  const record = (operation: string): string =>
    JSON.stringify({ ID: "7", Operation: operation, Who: "ann@build", Created: "2026-01-01" });

  /** A bucket with a state and what is beside it; tells what the reader warned of. */
  async function readBeside(lock: string | undefined, status = 200): Promise<readonly string[]> {
    const { read } = await setUp({ AWS_SECRET_ACCESS_KEY: "s" });
    const server = createServer(({ url = "" }, response) => {
      if (url.startsWith("/b/k.tflock")) {
        response.writeHead(lock === undefined ? 404 : status).end(lock);
      } else response.end(STATE);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const warnings: string[] = [];
    const settings = {
      bucket: "b",
      key: "k",
      region: "eu-west-1",
      access_key: "a",
      use_path_style: Value.bool(true),
      skip_s3_checksum: Value.bool(true),
      endpoints: Value.object([["s3", Value.string(url)]]),
    };
    const warn = (detail: string): void => void warnings.push(detail);
    expect(await read("s3", settings, warn)).toEqual(Buffer.from(STATE));
    return warnings;
  }

  it("is read with a warning, as nothing writes it any more", async () => {
    expect(await readBeside(record("stackwright adopt"))).toEqual([
      expect.stringContaining(
        "s3 bucket b, key k is locked by an adoption (ID 7, held by ann@build",
      ),
    ]);
  });

  it.each([
    ["is not locked", undefined, 200],
    ["a run of another command has locked", record("OperationTypeApply"), 200],
    ["has a lock that the reader may not see", record("stackwright adopt"), 403],
    ["has a lock without a record", "<none>", 200],
  ] as const)("is not meant where it %s", async (_name, lock, status) => {
    expect(await readBeside(lock, status)).toEqual([]);
  });
});

describe("credentials of states that somebody else asks for", () => {
  /** A server that counts what it is sent, and a file of the machine that it is after. */
  async function attacked(env: (secret: string) => NodeJS.ProcessEnv = () => ({})) {
    const machine = await mkdtempDisposable(join(tmpdir(), "former-backends-"));
    onTestFinished(() => machine.remove());
    const secret = join(machine.path, "token");
    await writeFile(secret, "secret-of-the-machine");
    const sent: string[] = [];
    const server = createServer(({ headers, url }, response) => {
      sent.push(JSON.stringify([url, headers]));
      response.writeHead(404).end();
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { ...(await setUp(env(secret))), secret, sent, url };
  }

  const REFUSED = "leads out of the configuration";
  const clusterOf = (server: string, user: object): string =>
    JSON.stringify({
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [{ name: "c", cluster: { server } }],
      users: [{ name: "u", user }],
    });

  it("are no token that a file of the configuration names for kubernetes", async () => {
    const { directory, read, secret, sent, url } = await attacked();
    await writeFile(join(directory, "kube.json"), clusterOf(url, { tokenFile: secret }));
    const settings = { secret_suffix: "s", config_path: "kube.json" };
    await expect(read("kubernetes", settings)).rejects.toThrow(REFUSED);
    expect(sent).toEqual([]);
  });

  it("are no configuration of kubectl of the user of the process", async () => {
    const { read, scratch, secret, sent, url } = await attacked();
    await writeFile(join(scratch, "kube.json"), clusterOf(url, { token: "t" }));
    for (const path of [join(scratch, "kube.json"), "../../../kube.json", secret]) {
      const settings = { secret_suffix: "s", config_path: path };
      await expect(read("kubernetes", settings), path).rejects.toThrow(REFUSED);
    }
    expect(sent).toEqual([]);
  });

  it("are no token that a variable names for consul", async () => {
    const { read, sent, url } = await attacked((secret) => ({ CONSUL_HTTP_TOKEN_FILE: secret }));
    await expect(read("consul", { path: "p", address: url })).rejects.toThrow(REFUSED);
    expect(sent).toEqual([]);
  });

  it("are no token that an argument names for s3, gcs or azurerm", async () => {
    const { read, secret, sent, url } = await attacked();
    const text = (value: string): Value => Value.string(value);
    await expect(
      read("s3", {
        bucket: "b",
        key: "k",
        region: "eu-west-1",
        endpoints: Value.object([
          ["s3", text(url)],
          ["sts", text(url)],
        ]),
        assume_role_with_web_identity: Value.object([
          ["role_arn", text("arn:aws:iam::1:role/r")],
          ["web_identity_token_file", text(secret)],
        ]),
      }),
    ).rejects.toThrow(REFUSED);
    await expect(read("gcs", { bucket: "b", credentials: secret })).rejects.toThrow(REFUSED);
    await expect(
      read("azurerm", {
        storage_account_name: "a",
        container_name: "c",
        key: "k",
        client_id: "i",
        tenant_id: "t",
        use_oidc: "true",
        oidc_token_file_path: secret,
      }),
    ).rejects.toThrow(REFUSED);
    expect(sent).toEqual([]);
  });

  it("are those of the configuration, and the tokens of the run", async () => {
    const { directory, read, scratch, sent, url } = await attacked();
    await mkdir(join(scratch, "tokens"));
    await writeFile(join(scratch, "tokens/token"), "token-of-the-run");
    const tokenFile = join(scratch, "tokens/token");
    await writeFile(join(directory, "kube.json"), clusterOf(url, { tokenFile }));
    const settings = { secret_suffix: "s", config_path: "kube.json" };
    expect(await read("kubernetes", settings)).toBeUndefined();
    expect(sent.join()).toContain("Bearer token-of-the-run");
  });
});
