import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { Type, Value } from "@stackwright/cty";
import { hasProviderErrors } from "@stackwright/mux/router";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createBuiltinProvider } from "./builtin-provider.ts";
import { httpStateBackend } from "./http-state.ts";
import { localStateBackend } from "./local-state.ts";

const text = (content: string) => Value.string(content);

function stateFile(outputs: string, version = 4): string {
  return `{"version": ${version}, "serial": 1, "outputs": ${outputs}, "resources": [{"outputs": 1}]}`;
}

const OUTPUTS = `{
  "name": {"value": "from the state", "type": "string", "sensitive": true},
  "big": { "type": "number", "value": 12345678901234567890123 },
  "list": {"value": ["a", "}\\\\\\"]"], "type": ["list", "string"]},
  "none": {"value": null, "type": ["object", {"a": "string"}]}
}`;

const EXPECTED = {
  name: text("from the state"),
  big: Value.parseNumber("12345678901234567890123"),
  list: Value.list([text("a"), text('}\\"]')]),
  none: Value.null(Type.object({ a: Type.string })),
};

function remoteState(members: Readonly<Record<string, Value>>): Value {
  return Value.object({
    backend: members.backend ?? Value.null(Type.string),
    config: members.config ?? Value.null(Type.dynamic),
    defaults: members.defaults ?? Value.null(Type.dynamic),
    outputs: Value.null(Type.dynamic),
    workspace: members.workspace ?? Value.null(Type.string),
  });
}

type Provider = ReturnType<typeof createBuiltinProvider>;

async function read(provider: Provider, members: Readonly<Record<string, Value>>) {
  const config = remoteState(members);
  const request = { type: "terraform_remote_state", config };
  const validated = await provider.validateDataSource({ ...request, writeOnlyAllowed: true }, {});
  const reply = await provider.readDataSource({ ...request, deferralAllowed: false }, {});
  // Whatever can be said without reading is said before.
  if (hasProviderErrors(validated.diagnostics))
    expect(hasProviderErrors(reply.diagnostics)).toBe(true);
  const problem = [...validated.diagnostics, ...reply.diagnostics][0];
  const outputs = new Map(reply.state?.entries()).get("outputs");
  return { ...reply, outputs, problem: problem && `${problem.summary}: ${problem.detail}` };
}

describe("terraform_remote_state of the local backend", () => {
  let folder = "";
  let provider: Provider;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "remote-state-"));
    const write = async (name: string, content: string) => writeFile(join(folder, name), content);
    await write("terraform.tfstate", stateFile(OUTPUTS));
    await write("empty.tfstate", " \n");
    await write("old.tfstate", stateFile("{}", 3));
    await write("broken.tfstate", '{"version": 4, secret');
    await write("typeless.tfstate", stateFile('{"a": {"value": 1}}'));
    await mkdir(join(folder, "terraform.tfstate.d/prod"), { recursive: true });
    await write("terraform.tfstate.d/prod/terraform.tfstate", stateFile("{}"));
    await mkdir(join(folder, "elsewhere/prod"), { recursive: true });
    await write("elsewhere/prod/terraform.tfstate", stateFile(OUTPUTS));
    provider = createBuiltinProvider({
      readTfvars: () => new Map(),
      backends: [localStateBackend({ workingDirectory: folder })],
    });
  });

  afterAll(async () => rm(folder, { recursive: true, force: true }));

  const local = (path: string) => ({
    backend: text("local"),
    config: Value.object({ path: text(path) }),
  });

  it("gives the root outputs as they were stored", async () => {
    const { outputs, sensitive } = await read(provider, { backend: text("local") });
    expect(outputs?.rawEquals(Value.object(EXPECTED))).toBe(true);
    expect(sensitive).toBeUndefined();
  });

  it("says which outputs are sensitive where it is asked to", async () => {
    const careful = createBuiltinProvider({
      readTfvars: () => new Map(),
      backends: [localStateBackend({ workingDirectory: folder })],
      keepSensitiveOutputs: true,
    });
    const { sensitive } = await read(careful, { backend: text("local") });
    expect(sensitive?.map(String)).toEqual([".outputs.name"]);
  });

  it("puts defaults behind the outputs", async () => {
    const defaults = Value.map({ name: text("default"), more: text("default") });
    const { outputs } = await read(provider, { backend: text("local"), defaults });
    const expected = Value.object({ ...EXPECTED, more: text("default") });
    expect(outputs?.rawEquals(expected)).toBe(true);
  });

  it.each<[string, Readonly<Record<string, Value>>, boolean]>([
    ["of the given path", local("terraform.tfstate"), true],
    ["of a workspace", { backend: text("local"), workspace: text("prod") }, false],
    [
      "of a workspace in another folder",
      {
        backend: text("local"),
        workspace: text("prod"),
        config: Value.map({ workspace_dir: text("elsewhere") }),
      },
      true,
    ],
  ])("reads the state %s", async (_name, members, full) => {
    const { outputs } = await read(provider, members);
    expect(outputs?.rawEquals(full ? Value.object(EXPECTED) : Value.emptyObject)).toBe(true);
  });

  it.each<[string, Readonly<Record<string, Value>>, RegExp]>([
    ["no state", local("absent.tfstate"), /Unable to find remote state/],
    ["an empty file", local("empty.tfstate"), /Unable to find remote state/],
    ["an old state", local("old.tfstate"), /version 3/],
    ["something else", local("broken.tfstate"), /not valid JSON/],
    ["an output without a type", local("typeless.tfstate"), /"a"/],
    ["an empty path", local(""), /path must not be empty/],
    ["a workspace outside", { backend: text("local"), workspace: text("..") }, /not a name/],
    ["a path as workspace", { backend: text("local"), workspace: text("a/b") }, /not a name/],
    ["another backend", { backend: text("s3") }, /no backend "s3"/],
    [
      "an unknown setting",
      { backend: text("local"), config: Value.object({ file: text("x") }) },
      /unsupported attribute "file"/,
    ],
    [
      "a setting of another type",
      { backend: text("local"), config: Value.object({ path: Value.emptyTuple }) },
      /"path"/,
    ],
    ["settings that are no object", { backend: text("local"), config: text("x") }, /object/],
    ["defaults that are no object", { backend: text("local"), defaults: text("x") }, /object/],
  ])("reports %s", async (_name, members, problem) => {
    const reply = await read(provider, members);
    expect(reply.problem).toMatch(problem);
    expect(reply.problem).not.toContain("secret");
    expect(reply.state).toBeUndefined();
  });

  it("accepts settings that are not known yet", async () => {
    const config = remoteState({
      backend: text("local"),
      config: Value.object({ path: Value.unknown(Type.string) }),
      defaults: Value.dynamic,
    });
    const request = { type: "terraform_remote_state", config, writeOnlyAllowed: true };
    expect((await provider.validateDataSource(request, {})).diagnostics).toEqual([]);
  });

  it("reads through the function that it is given in place of the file system", async () => {
    const paths: string[] = [];
    const guarded = createBuiltinProvider({
      readTfvars: () => new Map(),
      backends: [
        localStateBackend({
          readFile: async (path) => {
            paths.push(path);
            return Promise.resolve(undefined);
          },
        }),
      ],
    });
    await read(guarded, { backend: text("local"), workspace: text("w") });
    expect(paths).toEqual([join("terraform.tfstate.d", "w", "terraform.tfstate")]);
  });
});

describe("terraform_remote_state of the http backend over TLS", () => {
  const identity = (name: string) => {
    const { certificate, privateKey } = createSelfSignedIdentity({ name });
    return { certificate: String(certificate), privateKey: String(privateKey) };
  };
  const [server, client] = [identity("localhost"), identity("client")];
  const secure = createSecureServer(
    {
      key: server.privateKey,
      cert: server.certificate,
      ca: client.certificate,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const { authorized } = request.socket as TLSSocket;
      response.end(stateFile(`{"authorized": {"value": ${authorized}, "type": "bool"}}`));
    },
  );
  let address = "";

  beforeAll(async () => {
    await new Promise<void>((resolve) => secure.listen(0, "127.0.0.1", resolve));
    address = `https://localhost:${(secure.address() as AddressInfo).port}/`;
  });

  afterAll(() => secure.close());

  async function ask(members: Readonly<Record<string, Value>>) {
    const provider = createBuiltinProvider({ readTfvars: () => new Map() });
    const config = Value.object({
      address: text(address),
      retry_max: Value.zero,
      ...members,
    });
    return read(provider, { backend: text("http"), config });
  }

  it("trusts no authority by default", async () => {
    expect((await ask({})).problem).toMatch(/certificate/);
  });

  it.each<[string, Readonly<Record<string, Value>>]>([
    ["the given authority", { client_ca_certificate_pem: text(server.certificate) }],
    ["anybody where it is told to", { skip_cert_verification: Value.true }],
  ])("trusts %s", async (_name, members) => {
    const { outputs } = await ask(members);
    expect(outputs?.rawEquals(Value.object({ authorized: Value.false }))).toBe(true);
  });

  it("shows the certificate that it is given", async () => {
    const { outputs } = await ask({
      client_ca_certificate_pem: text(server.certificate),
      client_certificate_pem: text(client.certificate),
      client_private_key_pem: text(client.privateKey),
    });
    expect(outputs?.rawEquals(Value.object({ authorized: Value.true }))).toBe(true);
  });
});

describe("terraform_remote_state of the http backend", () => {
  type Handler = (request: IncomingMessage, response: ServerResponse, count: number) => void;
  let handler: Handler = () => {};
  let count = 0;
  const waits: number[] = [];
  const server = createServer((request, response) => {
    count += 1;
    handler(request, response, count);
  });
  let address = "";

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/state`;
  });

  afterAll(() => server.close());

  async function ask(
    answer: Handler,
    members: Readonly<Record<string, Value>> = {},
    environment: Readonly<Record<string, string>> = {},
  ) {
    handler = answer;
    count = 0;
    waits.length = 0;
    const backend = httpStateBackend({
      environment,
      maxBytes: 100_000,
      delay: async (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
    });
    const provider = createBuiltinProvider({ readTfvars: () => new Map(), backends: [backend] });
    const config = Value.object({ address: text(address), ...members });
    return read(provider, { backend: text("http"), config });
  }

  const answerWith =
    (status: number, body = ""): Handler =>
    (_request, response) => {
      response.writeHead(status).end(body);
    };

  it("gives the root outputs of what the server answers", async () => {
    let seen = "";
    const { outputs } = await ask(
      (request, response) => {
        seen = `${request.method} ${request.url} ${request.headers.authorization}`;
        response.end(stateFile(OUTPUTS));
      },
      { username: text("ann"), password: text("p:w") },
    );
    expect(outputs?.rawEquals(Value.object(EXPECTED))).toBe(true);
    expect(seen).toBe(`GET /state Basic ${Buffer.from("ann:p:w").toString("base64")}`);
  });

  it("takes what the template leaves out from the environment that it is given", async () => {
    const { outputs } = await ask(
      answerWith(200, stateFile(OUTPUTS)),
      { address: Value.null(Type.string) },
      { TF_HTTP_ADDRESS: address },
    );
    expect(outputs?.isNull).toBe(false);
  });

  it.each([404, 204, 200])(
    "finds no state where the answer is %i without a body",
    async (status) => {
      expect((await ask(answerWith(status))).problem).toMatch(/Unable to find remote state/);
    },
  );

  it.each([401, 403, 409])("does not try again after %i", async (status) => {
    expect((await ask(answerWith(status))).problem).toContain(String(status));
    expect(count).toBe(1);
  });

  it("tries again after a failure of the server, and waits longer each time", async () => {
    const { outputs } = await ask(
      (_request, response, attempt) => {
        if (attempt === 1) response.writeHead(503).end();
        else if (attempt === 2) response.destroy();
        else response.end(stateFile(OUTPUTS));
      },
      { retry_wait_min: Value.number(2), retry_wait_max: Value.number(3) },
    );
    expect(outputs?.isNull).toBe(false);
    expect(waits).toEqual([2000, 3000]);
  });

  it("gives up after as many attempts as configured", async () => {
    const { problem } = await ask(answerWith(500), { retry_max: Value.number(1) });
    expect(problem).toContain("500");
    expect(count).toBe(2);
  });

  it("follows redirects, and gives credentials to no other host", async () => {
    const seen: (string | undefined)[] = [];
    const { outputs } = await ask(
      (request, response) => {
        seen.push(request.headers.authorization);
        const other = address.replace("127.0.0.1", "localhost").replace("/state", "/other");
        if (request.url === "/state") response.writeHead(302, { location: "/next" }).end();
        else if (request.url === "/next") response.writeHead(307, { location: other }).end();
        else response.end(stateFile(OUTPUTS));
      },
      { username: text("ann") },
    );
    expect(outputs?.isNull).toBe(false);
    expect(seen.map((header) => header !== undefined)).toEqual([true, true, false]);
  });

  it("ends a circle of redirects", async () => {
    const { problem } = await ask((_request, response) => {
      response.writeHead(302, { location: "/state" }).end();
    });
    expect(problem).toContain("redirects");
    expect(count).toBe(11);
  });

  it("refuses a state that is too large", async () => {
    const { problem } = await ask(answerWith(200, " ".repeat(200_000)));
    expect(problem).toContain("larger");
    expect(count).toBe(1);
  });

  it.each<[string, Readonly<Record<string, Value>>, RegExp]>([
    ["no address", { address: Value.null(Type.string) }, /address is required/],
    ["another scheme", { address: text("file:///etc/passwd") }, /http or https/],
    ["half a client certificate", { client_certificate_pem: text("x") }, /together/],
  ])("reports %s", async (_name, members, problem) => {
    expect((await ask(answerWith(200), members)).problem).toMatch(problem);
    expect(count).toBe(0);
  });

  it("has the default workspace only", async () => {
    const provider = createBuiltinProvider({ readTfvars: () => new Map() });
    const config = Value.object({ address: text(address) });
    const { problem } = await read(provider, {
      backend: text("http"),
      config,
      workspace: text("prod"),
    });
    expect(problem).toContain("no workspaces");
  });

  it("stops when the caller gives up", async () => {
    const controller = new AbortController();
    handler = () => controller.abort(new Error("given up"));
    const provider = createBuiltinProvider({ readTfvars: () => new Map() });
    const config = remoteState({
      backend: text("http"),
      config: Value.object({ address: text(address) }),
    });
    const request = { type: "terraform_remote_state", config, deferralAllowed: false };
    const reading = provider.readDataSource(request, { signal: controller.signal });
    await expect(reading).rejects.toThrow("given up");
    server.closeAllConnections();
  });
});
