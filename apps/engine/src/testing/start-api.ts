import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Role } from "@stackwright/registry";
import { onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { type ServeParts, serve } from "../serve.ts";
import type { ServerOptions } from "../server-options.ts";
import { tarOf } from "./tar-of.ts";

/** Where the project and the stack of the tests are. */
export const P = "/api/v1/projects/web";
export const S = `${P}/stacks/one`;
const MAIN = 'resource "terraform_data" "a" { input = "x" }';

/** A server over a store in memory, with its first token and calls of its API; the project is `web`, the stack `one`. */
export async function startApi(
  executor: "in-process" | "none" = "in-process",
  options: Partial<ServerOptions> = {},
  env: Readonly<Record<string, string>> = {},
  parts: Pick<ServeParts, "plugins"> = {},
) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "api-"));
  onTestFinished(() => scratch.remove());
  const file = join(scratch.path, "first.json");
  // Children of the server start with what is compiled.
  const { NODE_COMPILE_CACHE } = process.env;
  const server = await serve(
    { store: "memory:", port: 0, bootstrapFile: file, logLevel: "silent", executor, ...options },
    { ...parts, directory: scratch.path, env: { NODE_COMPILE_CACHE, ...env } },
  );
  onTestFinished(() => server.close());
  const first = JSON.parse(await readFile(file, "utf8")) as BootstrapCredentials;
  const tokenOf = async (role: Role, projects: string[] = []) =>
    (await server.credentials.createToken({ account: "default", roles: [role], projects })).token;
  const call = async (
    method: string,
    path: string,
    {
      token = first.token,
      body,
      headers = {},
    }: {
      readonly token?: string | undefined;
      readonly body?: object | Uint8Array<ArrayBuffer> | undefined;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) => {
    const isBytes = body instanceof Uint8Array;
    const answer: Response = await fetch(server.url + path, {
      method,
      headers: {
        ...(token !== "" && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && {
          "content-type": isBytes ? "application/gzip" : "application/json",
        }),
        ...headers,
      },
      ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    const json = text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {};
    const { get } = bound(answer.headers);
    return { status: answer.status, headers: { get }, text, json };
  };
  const upload = async (files: Record<string, string> = { "main.tf": MAIN }, stack = "one") => {
    const archive = Uint8Array.from(gzipSync(tarOf(files)));
    return call("POST", `${P}/stacks/${stack}/configurations`, { body: archive });
  };
  return { server, call, upload, tokenOf, first, directory: scratch.path };
}

/** The names of headers are read without the type of a collection of one platform. */
function bound(headers: { get(name: string): string | null }) {
  return { get: (name: string): string | null => headers.get(name) };
}
