import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, it, onTestFinished } from "vitest";
import { createGitPlace } from "../../testing/git-place.ts";
import { startServerProcess } from "../../testing/start-server-process.ts";
import { tarOf } from "../../testing/tar-of.ts";
import { localhostCertificate } from "../../testing/terraform-roots.ts";

const MAIN = join(import.meta.dirname, "../../main.ts");
const ARCHIVE = gzipSync(tarOf({ "main.tf": 'output "word" { value = "registered" }\n' }));

/** A registry and the repositories of a folder on one host, for those alone who have the token of each. */
async function startHost(repositories: string, tls: { certificateFile: string; keyFile: string }) {
  const seen: string[] = [];
  const server = createServer(
    { cert: await readFile(tls.certificateFile), key: await readFile(tls.keyFile) },
    (request, response) => {
      const { url = "", headers } = request;
      const { authorization = "" } = headers;
      seen.push(`${url.split("?")[0]} ${authorization.split(" ")[0]}`);
      const isGit = url.startsWith("/infra.git");
      const git = `Basic ${Buffer.from("x-access-token:git-s3cret").toString("base64")}`;
      const isAllowed = authorization === (isGit ? git : "Bearer registry-s3cret");
      if (url.startsWith("/archive.tgz")) response.end(ARCHIVE);
      else if (!isAllowed) response.writeHead(401).end();
      else if (isGit) serveGit(repositories, request, response);
      else if (url.endsWith("/versions")) {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ modules: [{ versions: [{ version: "1.0.0" }] }] }));
      } else response.writeHead(204, { "x-terraform-get": "/archive.tgz" }).end();
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  onTestFinished(() => void server.close());
  return { seen, host: `localhost:${(server.address() as AddressInfo).port}` };
}

/** Git's own server for one request. */
function serveGit(root: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method,
      PATH_INFO: path,
      QUERY_STRING: query,
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
    },
  });
  request.pipe(child.stdin);
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.once("close", () => {
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf("\r\n\r\n");
    for (const line of answer.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(": ");
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(answer.subarray(end + 4));
  });
}

it("a run fetches modules of other hosts with the credentials of its stack, and without them none", {
  timeout: 180_000,
}, async () => {
  const place = await createGitPlace();
  await place.commit({ "net/main.tf": 'output "word" { value = "committed" }\n' });
  await place.git("push", "--quiet", "origin", "HEAD:main");
  const tls = await localhostCertificate();
  const { host, seen } = await startHost(place.repositories, tls);
  const rc = join(place.folder, "rc");
  const registry = "modules.example.test";
  await writeFile(
    rc,
    `host "${registry}" {\n  services = { "modules.v1" = "https://${host}/modules/" }\n}\n`,
  );
  const first = join(place.folder, "first.json");
  const words = ["--store", "sqlite:data", "--bootstrap-file", first, "--module-host", host];
  const { url } = await startServerProcess(MAIN, words, {
    cwd: place.folder,
    env: {
      TF_CLI_CONFIG_FILE: rc,
      SSL_CERT_FILE: tls.certificateFile,
      NODE_EXTRA_CA_CERTS: tls.certificateFile,
    },
  });
  const { token } = JSON.parse(await readFile(first, "utf8")) as { token: string };
  const call = async (method: string, path: string, body?: object) => {
    const isBytes = body instanceof Uint8Array;
    const answer = await fetch(`${url}/api/v1/projects/web/stacks${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          "content-type": isBytes ? "application/gzip" : "application/json",
        }),
      },
      ...(body !== undefined && {
        body: isBytes ? Uint8Array.from(body) : JSON.stringify(body),
      }),
    });
    const text = await answer.text();
    return { text, json: (text.startsWith("{") ? JSON.parse(text) : {}) as Record<string, string> };
  };
  await call("POST", "", { name: "one" });
  const config = `
module "a" {
  source  = "${registry}/acme/net/any"
  version = "~> 1.0"
}
module "b" { source = "git::https://${host}/infra.git//net?ref=main" }
output "words" { value = "\${module.a.word}, \${module.b.word}" }
`;
  const archive = gzipSync(tarOf({ "main.tf": config }));
  const { digest } = (await call("POST", "/one/configurations", archive)).json;
  const run = async () => {
    const body = { configuration: digest, auto_apply: true };
    const { id } = (await call("POST", "/one/runs", body)).json;
    const phase = async () => (await call("GET", `/one/runs/${id}`)).json["phase"];
    await expect.poll(phase, { timeout: 60_000 }).toMatch(/applied|failed|no_changes/);
    return { phase: await phase(), events: (await call("GET", `/one/runs/${id}/events`)).text };
  };
  const without = await run();
  expect(without.phase).toBe("failed");
  expect(without.events).toMatch(/401|nauthorized/);
  const end = host.replaceAll(":", "_");
  for (const [key, value] of [
    ["TF_TOKEN_modules_example_test", "registry-s3cret"],
    [`GIT_TOKEN_${end}`, "git-s3cret"],
  ]) {
    await call("PUT", `/one/variables/env/${key}`, { value, sensitive: true });
  }
  const found = await run();
  expect([found.phase, found.events]).toEqual(["applied", expect.stringContaining("Fetched")]);
  expect((await call("GET", "/one/state")).text).toContain("registered, committed");
  expect(found.events).not.toContain("s3cret");
  // The token of the registry goes to no archive, and that of the repository to nothing else.
  expect(seen).toContain("/archive.tgz ");
});
