import { randomUUID } from "node:crypto";
import { type SigningCredentials, signRequest } from "@stackwright/request-signing";

/** What a server made at its first start. */
export interface BootstrapCredentials extends SigningCredentials {
  readonly token: string;
}

/** Calls a server as clients outside of it do. */
export class ServerClient {
  /** Where the server is, without a slash at the end. */
  readonly url: string;
  readonly credentials: BootstrapCredentials;

  constructor(url: string, credentials: BootstrapCredentials) {
    this.url = url;
    this.credentials = credentials;
  }

  /** How the server answers a request for its readiness. */
  async readiness(): Promise<number> {
    return (await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(10_000) })).status;
  }

  /** Calls the RFS API, signed with the first access key. */
  async rfs(method: string, target: string, body?: object): Promise<Response> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const headers = signRequest(
      {
        method,
        target,
        headers: [
          ["host", new URL(this.url).host],
          ["client-request-id", randomUUID()],
          ...(body === undefined ? [] : [["content-type", "application/json"] as const]),
        ],
        body: Buffer.from(text),
      },
      this.credentials,
    ) as [string, string][];
    return this.#fetch(method, target, headers, text);
  }

  /** Calls the server's own API with the first token; gives what it answers, and rejects where it does not succeed. */
  async own(method: string, path: string, body?: object): Promise<unknown> {
    const target = `/api/v1/registry${path}`;
    const headers: [string, string][] = [["x-auth-token", this.credentials.token]];
    if (body !== undefined) headers.push(["content-type", "application/json"]);
    const text = body === undefined ? "" : JSON.stringify(body);
    const answer = await this.#fetch(method, target, headers, text);
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${said}`);
    return JSON.parse(said) as unknown;
  }

  async #fetch(
    method: string,
    target: string,
    headers: [string, string][],
    text: string,
  ): Promise<Response> {
    return fetch(this.url + target, {
      method,
      headers,
      signal: AbortSignal.timeout(30_000),
      ...(text !== "" && { body: text }),
    });
  }
}
