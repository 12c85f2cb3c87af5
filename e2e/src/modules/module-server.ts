import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a server of modules has, by path. */
interface ModuleServerContent {
  readonly archives: Readonly<Record<string, Buffer>>;
  /** Versions and the address of the package, by `namespace/name/system`. */
  readonly modules: Readonly<
    Record<string, { readonly versions: readonly string[]; readonly location: string }>
  >;
  /** Answers with only this header, by path. */
  readonly redirects: Readonly<Record<string, string>>;
  /** The folder of the repositories below `/git/`. */
  readonly repositories: string;
  /** The token that the registry requires. */
  readonly token: string;
}

/** A registry, archives and repositories on loopback, as both commands ask for them. */
export class ModuleServer implements AsyncDisposable {
  readonly #server: ReturnType<typeof createServer>;
  readonly url: string;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(content: ModuleServerContent): Promise<ModuleServer> {
    const server = createServer((request, response) => answer(content, request, response));
    server.listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    return new ModuleServer(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function answer(
  { archives, modules, redirects, repositories, token }: ModuleServerContent,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { pathname, search } = new URL(request.url ?? "/", "http://h.test");
  if (pathname.startsWith("/git/")) {
    return gitBackend(repositories, pathname.slice("/git".length), search, request, response);
  }
  const archive = archives[pathname];
  const redirect = redirects[pathname];
  if (archive !== undefined) response.end(archive);
  else if (redirect !== undefined) {
    const location = `http://${request.headers.host ?? ""}${redirect}`;
    response.writeHead(204, { "x-terraform-get": location }).end();
  } else if (!pathname.startsWith("/v1/")) response.writeHead(404).end();
  else if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end();
  else {
    const [namespace, name, system, ...rest] = pathname.slice("/v1/".length).split("/");
    const module = modules[`${namespace}/${name}/${system}`];
    if (module === undefined) response.writeHead(404).end();
    else if (rest.length === 1) {
      const versions = module.versions.map((version) => ({ version }));
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ modules: [{ versions }] }));
    } else response.writeHead(204, { "x-terraform-get": module.location }).end();
  }
}

/** Runs git's own program for HTTP, which speaks CGI. */
function gitBackend(
  root: string,
  path: string,
  search: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { headers, method = "GET" } = request;
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: path,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: method,
      CONTENT_TYPE: headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(headers["git-protocol"] ?? ""),
      REMOTE_USER: "",
    },
    stdio: ["pipe", "pipe", "ignore"],
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => undefined);
  const parts: Buffer[] = [];
  child.stdout.on("data", (part: Buffer) => parts.push(part));
  child.on("close", () => {
    const all = Buffer.concat(parts);
    const end = all.indexOf("\r\n\r\n");
    const lines = all.subarray(0, end).toString().split("\r\n");
    const fields = lines.map((line) => line.split(": ") as [string, string]);
    const status = fields.find(([name]) => name === "Status")?.[1] ?? "200";
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(fields.filter(([name]) => name !== "Status")),
    );
    response.end(all.subarray(end + 4));
  });
}
