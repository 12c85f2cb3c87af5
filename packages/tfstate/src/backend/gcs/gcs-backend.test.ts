import { createVerify, generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ArgumentValues, BackendArguments } from "../backend-arguments.ts";
import { openBackend } from "../open-backend.ts";
import type { LockRecord, StateBackend } from "../state-backend.ts";
import { gcsBackend } from "./gcs-backend.ts";

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

interface Bucket {
  readonly url: string;
  readonly objects: Map<string, { readonly body: string; readonly generation: number }>;
  readonly requests: Request[];
  /** Answers a request in place of the bucket; true where it did. */
  before: (request: Request, response: ServerResponse) => boolean;
  /** Whether the connection breaks after the request was done. */
  loses: (request: Request) => boolean;
}

/** The bucket `states`, with the generations and preconditions of the storage. */
async function bucketServer(): Promise<Bucket> {
  const bucket: Bucket = {
    url: "",
    objects: new Map(),
    requests: [],
    before: () => false,
    loses: () => false,
  };
  let generations = 1_700_000_000_000_000;
  const answer = (request: Request, response: ServerResponse): void => {
    const json = (status: number, value: object): void => {
      if (bucket.loses(request)) response.socket?.destroy();
      else response.writeHead(status).end(JSON.stringify(value));
    };
    const [, home, name = ""] =
      /^\/(?:upload\/)?storage\/v1\/b\/([^/]+)\/o\/?(.*)$/.exec(request.path) ?? [];
    if (home !== "states") return json(404, { error: { message: "no such bucket" } });
    const { query } = request;
    const expected = query.get("ifGenerationMatch");
    const object = decodeURIComponent(request.method === "POST" ? (query.get("name") ?? "") : name);
    const found = bucket.objects.get(object);
    if (expected !== null && Number(expected) !== (found?.generation ?? 0)) return json(412, {});
    if (request.method === "POST") {
      generations += 1;
      bucket.objects.set(object, { body: request.body, generation: generations });
      return json(200, { generation: String(generations) });
    }
    if (object === "") {
      const prefix = query.get("prefix") ?? "";
      const names = [...bucket.objects.keys()].filter(
        (key) => key.startsWith(prefix) && !key.slice(prefix.length).includes("/"),
      );
      // One object for each page.
      const index = Number(query.get("pageToken") ?? "0");
      const next = index + 1 < names.length ? { nextPageToken: String(index + 1) } : {};
      return json(200, {
        items: names.slice(index, index + 1).map((key) => ({ name: key })),
        ...next,
      });
    }
    if (found === undefined) return json(404, {});
    if (request.method === "DELETE") {
      bucket.objects.delete(object);
      return json(200, {});
    }
    response.setHeader("x-goog-generation", found.generation);
    response.writeHead(200).end(found.body);
  };
  const server = createServer((incoming, response) => {
    const parts: Buffer[] = [];
    incoming.on("data", (part: Buffer) => parts.push(part));
    incoming.on("end", () => {
      const url = new URL(incoming.url ?? "", "http://x");
      const request = {
        method: incoming.method ?? "",
        path: url.pathname,
        query: url.searchParams,
        authorization: incoming.headers.authorization ?? "",
        headers: incoming.headers,
        body: Buffer.concat(parts).toString(),
      };
      bucket.requests.push(request);
      if (!bucket.before(request, response)) answer(request, response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(bucket, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
}

function open(
  { url }: Bucket,
  values: ArgumentValues = {},
  env: NodeJS.ProcessEnv = {},
  directory = "/nonexistent",
): StateBackend {
  const all = {
    bucket: "states",
    prefix: "app",
    storage_custom_endpoint: `${url}/storage/v1/`,
    access_token: "secret-token",
    ...values,
  };
  return gcsBackend(new BackendArguments("gcs", all, env), { directory, env, iamEndpoint: url });
}

function record(): LockRecord {
  return {
    ID: randomUUID(),
    Operation: "stackwright adopt",
    Info: "",
    Who: "ann@build",
    Version: "1",
    Created: "2026-01-01T00:00:00Z",
    Path: "",
  };
}

it("finds the workspaces over pages, and not the objects of other prefixes and folders", async () => {
  const bucket = await bucketServer();
  const names = ["app/default.tfstate", "app/stg.tfstate", "app/stg.tflock", "app/a/b.tfstate"];
  for (const name of [...names, "app2.tfstate", "app/.tfstate", "app/prod.tfstate"]) {
    bucket.objects.set(name, { body: "{}", generation: 1 });
  }
  expect(await open(bucket).workspaces()).toEqual(["default", "prod", "stg"]);
});

it("refuses a bucket that does not exist instead of reporting no state", async () => {
  const bucket = await bucketServer();
  expect(await open(bucket).read("default")).toBe(undefined);
  await expect(open(bucket, { bucket: "misspelt" }).read("default")).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_INVALID",
    message: expect.stringContaining("the bucket does not exist"),
  });
});

it("locks once, and shows the holder with what releases its lock", async () => {
  const bucket = await bucketServer();
  const held = await open(bucket).lock("default", record());
  const generation = bucket.objects.get("app/default.tflock")?.generation;
  expect(held.unlockArgument).toBe(String(generation));
  await expect(open(bucket).lock("default", record())).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_LOCKED",
    message: expect.stringContaining(`held by ann@build, for stackwright adopt`),
    lock: expect.stringContaining(held.id),
  });
  await expect(open(bucket).lock("default", record())).rejects.toThrow(
    `terraform force-unlock ${generation}`,
  );
  await held.release();
  expect(bucket.objects.size).toBe(0);
});

it("has the lock where only the answer to its request was lost", async () => {
  const bucket = await bucketServer();
  let lost = 0;
  bucket.loses = ({ method }) => method === "POST" && (lost += 1) === 1;
  const held = await open(bucket).lock("default", record());
  expect(lost).toBe(2);
  await held.release();
  expect(bucket.objects.size).toBe(0);
});

it("leaves a lock that another command has acquired since", async () => {
  const bucket = await bucketServer();
  const backend = open(bucket);
  const mine = record();
  const held = await backend.lock("default", mine);
  const other = { body: JSON.stringify(record()), generation: 7 };
  bucket.objects.set("app/default.tflock", other);
  await held.release();
  await backend.unlock?.("default", mine.ID);
  expect(bucket.objects.get("app/default.tflock")).toBe(other);
});

it("releases by ID a lock that an earlier process left", async () => {
  const bucket = await bucketServer();
  const { id } = await open(bucket).lock("default", record());
  await open(bucket).unlock?.("default", id);
  expect(bucket.objects.size).toBe(0);
});

it("reports the lock as held where its holder is gone when it is asked for", async () => {
  const bucket = await bucketServer();
  bucket.before = ({ method }, response) => {
    if (method !== "POST") return false;
    response.writeHead(412).end();
    return true;
  };
  await expect(open(bucket).lock("default", record())).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_LOCKED",
    lock: undefined,
  });
});

it("shows no control characters of a lock record", async () => {
  const bucket = await bucketServer();
  const hostile = { ...record(), Who: `\u001b[2J\u202e${"x".repeat(5_000)}` };
  bucket.objects.set("app/default.tflock", { body: JSON.stringify(hostile), generation: 7 });
  const error: unknown = await open(bucket)
    .lock("default", record())
    .catch((caught: unknown) => caught);
  expect(String(error)).not.toContain("\u001b");
  expect(String(error)).not.toContain("\u202e");
  expect(String(error).length).toBeLessThan(700);
});

it("names a refused permission, and not the token", async () => {
  const bucket = await bucketServer();
  bucket.before = (_request, response) => {
    response.writeHead(403).end("{}");
    return true;
  };
  const error: unknown = await open(bucket)
    .read("default")
    .catch((caught: unknown) => caught);
  expect(String(error)).toContain("permission denied");
  expect(String(error)).not.toContain("secret-token");
});

it("refuses a state whose digest is not the recorded one", async () => {
  const bucket = await bucketServer();
  bucket.before = (_request, response) => {
    response.setHeader("x-goog-hash", "crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg==");
    response.writeHead(200).end("{}");
    return true;
  };
  await expect(open(bucket).read("default")).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_DIGEST",
  });
});

it("ends a list that has no end", async () => {
  const bucket = await bucketServer();
  bucket.before = (_request, response) => {
    response.end(JSON.stringify({ items: [], nextPageToken: "again" }));
    return true;
  };
  await expect(open(bucket).workspaces()).rejects.toThrow("more than 1000 pages");
});

it("sends the customer's key with states, and not with locks", async () => {
  const bucket = await bucketServer();
  const key = Buffer.alloc(32, 7).toString("base64");
  const backend = open(bucket, { encryption_key: key });
  await (await backend.lock("default", record())).release();
  await backend.write("default", Buffer.from("{}"));
  await backend.read("default");
  const sent = bucket.requests.map(({ method, headers }) => [
    method,
    headers["x-goog-encryption-key"],
  ]);
  expect(sent).toEqual([
    ["POST", undefined],
    ["DELETE", undefined],
    ["POST", key],
    ["GET", key],
  ]);
});

it.each([
  ["31 bytes", Buffer.alloc(31).toString("base64")],
  ["33 bytes", Buffer.alloc(33).toString("base64")],
  ["neither a key nor a file", "very-secret-key"],
])("refuses a customer's key of %s without showing it", async (_name, key) => {
  const bucket = await bucketServer();
  expect(() => open(bucket, { encryption_key: key })).toThrow("32 bytes in base64 are required");
  expect(() => open(bucket, { encryption_key: key })).not.toThrow(key);
});

it("sends no credentials to an emulator", async () => {
  const bucket = await bucketServer();
  const env = { STORAGE_EMULATOR_HOST: new URL(bucket.url).host, GOOGLE_CREDENTIALS: "/none" };
  await open(bucket, { storage_custom_endpoint: null, access_token: null }, env).read("default");
  expect(bucket.requests.map(({ authorization }) => authorization)).toEqual(["", ""]);
});

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const PRIVATE_KEY = privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** Answers requests for tokens at `/token` and those on behalf of another account. */
function issueTokens(bucket: Bucket): void {
  bucket.before = ({ path, authorization }, response) => {
    if (path === "/token") {
      response.end(JSON.stringify({ access_token: "issued", expires_in: 3_600 }));
      return true;
    }
    if (path.endsWith(":generateAccessToken")) {
      const accessToken = authorization === "Bearer issued" ? "of-other" : "";
      const expireTime = "2999-01-01T00:00:00Z";
      response.end(JSON.stringify({ accessToken, expireTime }));
      return true;
    }
    return false;
  };
}

const serviceAccount = ({ url }: Bucket): object => ({
  type: "service_account",
  client_email: "robot@example.com",
  private_key: PRIVATE_KEY,
  token_uri: `${url}/token`,
});

const user = ({ url }: Bucket): object => ({
  type: "authorized_user",
  client_id: "id",
  client_secret: "cs",
  refresh_token: "rt",
  token_uri: `${url}/token`,
});

it("signs in as a service account, once for many requests", async () => {
  const bucket = await bucketServer();
  issueTokens(bucket);
  const env = { GOOGLE_CREDENTIALS: JSON.stringify(serviceAccount(bucket)) };
  const backend = open(bucket, { access_token: null }, env);
  await backend.workspaces();
  await backend.workspaces();
  const [token, ...others] = bucket.requests;
  const assertion = new URLSearchParams(token?.body).get("assertion") ?? "";
  const [head, claims, signature = ""] = assertion.split(".");
  const verify = createVerify("RSA-SHA256").update(`${head}.${claims}`);
  expect(verify.verify(publicKey, signature, "base64url")).toBe(true);
  expect(JSON.parse(Buffer.from(claims ?? "", "base64url").toString())).toMatchObject({
    iss: "robot@example.com",
    aud: `${bucket.url}/token`,
  });
  expect(others.map(({ authorization }) => authorization)).toEqual([
    "Bearer issued",
    "Bearer issued",
  ]);
});

it.each([
  ["credentials", (path: string) => ({ GOOGLE_BACKEND_CREDENTIALS: path })],
  ["GOOGLE_APPLICATION_CREDENTIALS", (path: string) => ({ GOOGLE_APPLICATION_CREDENTIALS: path })],
  ["the home directory", (_path: string, home: string) => ({ HOME: home })],
])("reads a file of credentials from %s", async (_name, envOf) => {
  const bucket = await bucketServer();
  issueTokens(bucket);
  const home = await mkdtempDisposable(join(tmpdir(), "gcs-home-"));
  onTestFinished(() => home.remove());
  const folder = join(home.path, ".config", "gcloud");
  await mkdir(folder, { recursive: true });
  const path = join(folder, "application_default_credentials.json");
  await writeFile(path, JSON.stringify(user(bucket)));
  await open(bucket, { access_token: null }, envOf(path, home.path)).workspaces();
  expect(bucket.requests[0]?.body).toContain("refresh_token=rt");
  expect(bucket.requests[1]?.authorization).toBe("Bearer issued");
});

it("works on behalf of another account", async () => {
  const bucket = await bucketServer();
  issueTokens(bucket);
  const env = { GOOGLE_CREDENTIALS: JSON.stringify(user(bucket)) };
  const values = { access_token: null, impersonate_service_account: "other@example.com" };
  await open(bucket, values, env).workspaces();
  expect(bucket.requests.at(-1)?.authorization).toBe("Bearer of-other");
});

it("says which credentials were looked for on a machine that has none", async () => {
  const bucket = await bucketServer();
  const env = { HOME: "/nonexistent", GCE_METADATA_HOST: "127.0.0.1:1" };
  await expect(open(bucket, { access_token: null }, env).read("default")).rejects.toThrow(
    "no credentials were found; set one of GOOGLE_OAUTH_ACCESS_TOKEN",
  );
});

it.each([
  ["a path that is not there", "canary-file", "is not readable (ENOENT)"],
  ["text that is not JSON", "{ canary", "are not valid JSON"],
  ["another type", `{"type":"external_account_authorized_user","canary":1}`, "are not supported"],
  [
    "a token of a program",
    `{"type":"external_account","audience":"a","subject_token_type":"t","token_url":"https://sts.googleapis.com/v1/token","credential_source":{"executable":{"command":"canary"}}}`,
    `no "file" in their credential_source`,
  ],
  [
    "a token for an address that anybody may read",
    `{"type":"external_account","audience":"a","subject_token_type":"t","token_url":"http://example.com/canary","credential_source":{"file":"canary"}}`,
    "an address that is not https",
  ],
  ["no members", `{"type":"service_account"}`, `have no "client_email"`],
  [
    "a key that is none",
    `{"type":"service_account","client_email":"a","private_key":"canary"}`,
    `the "private_key" of the credentials is not valid`,
  ],
  [
    "an address that anybody may read",
    `{"type":"service_account","client_email":"a","private_key":"canary","token_uri":"http://example.com/"}`,
    "an address that is not https",
  ],
])("refuses credentials of %s without showing them", async (_name, credentials, message) => {
  const bucket = await bucketServer();
  const error: unknown = await open(bucket, { access_token: null, credentials })
    .read("default")
    .catch((caught: unknown) => caught);
  expect(String(error)).toContain(message);
  expect(String(error)).not.toContain("canary");
  expect(bucket.requests).toEqual([]);
});

it("shows the short code of refused credentials, and nothing else of the answer", async () => {
  const bucket = await bucketServer();
  bucket.before = (_request, response) => {
    response.writeHead(400);
    response.end(JSON.stringify({ error: "invalid_grant", error_description: "canary" }));
    return true;
  };
  const env = { GOOGLE_CREDENTIALS: JSON.stringify(user(bucket)) };
  const error: unknown = await open(bucket, { access_token: null }, env)
    .read("default")
    .catch((caught: unknown) => caught);
  expect(String(error)).toContain("HTTP status 400, invalid_grant");
  expect(String(error)).not.toContain("canary");
});

it("does not use the account of the machine where it is isolated from it", async () => {
  const bucket = await bucketServer();
  const env = { HOME: "/nonexistent", GCE_METADATA_HOST: new URL(bucket.url).host };
  const values = {
    bucket: "states",
    prefix: "app",
    storage_custom_endpoint: `${bucket.url}/storage/v1/`,
  };
  await using backend = await openBackend(
    { type: "gcs", values },
    { directory: "/nonexistent", env, isIsolated: true },
  );
  await expect(backend.read("default")).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_INVALID",
    message: expect.stringContaining("GOOGLE_CREDENTIALS"),
  });
  expect(bucket.requests).toEqual([]);
});

it.each(["text", "json"] as const)(
  "exchanges the token of another issuer in a file of %s",
  async (type) => {
    const bucket = await bucketServer();
    const scratch = await mkdtempDisposable(join(tmpdir(), "gcs-"));
    onTestFinished(() => scratch.remove());
    const tokenFile = join(scratch.path, "token");
    await writeFile(tokenFile, type === "json" ? '{"id_token":"proof-1"}' : "proof-1\n");
    bucket.objects.set("app/default.tfstate", { body: "{}", generation: 1 });
    const asked: Record<string, string>[] = [];
    bucket.before = ({ path, body, authorization }, response) => {
      if (path === "/sts") {
        asked.push(Object.fromEntries(new URLSearchParams(body)));
        response.end('{"access_token":"federated","expires_in":3600}');
        return true;
      }
      if (path !== "/account") return false;
      asked.push({ authorization });
      response.end('{"accessToken":"of-account","expireTime":"2100-01-01T00:00:00Z"}');
      return true;
    };
    const file = join(scratch.path, "gcp.json");
    const credentials = {
      type: "external_account",
      audience:
        "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${bucket.url}/sts`,
      credential_source: {
        file: tokenFile,
        format: { type, subject_token_field_name: "id_token" },
      },
      service_account_impersonation_url: `${bucket.url}/account`,
    };
    await writeFile(file, JSON.stringify(credentials));
    const env = { GOOGLE_APPLICATION_CREDENTIALS: file };
    const backend = open(bucket, { access_token: null }, env);
    expect(String(await backend.read("default"))).toBe("{}");
    expect(asked).toMatchObject([
      {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        audience: credentials.audience,
        subject_token: "proof-1",
        subject_token_type: credentials.subject_token_type,
      },
      { authorization: "Bearer federated" },
    ]);
    expect(bucket.requests.at(-1)?.authorization).toBe("Bearer of-account");
  },
);
