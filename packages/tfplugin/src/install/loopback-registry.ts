import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { type PackEntry, ProviderAddress, packArchive } from "@stackwright/provider-source";
import { createMessage, generateKey, type PrivateKey, sign } from "openpgp";

/** A provider on offer: one program that prints what it is. */
export interface Offered {
  readonly source: string;
  readonly version: string;
  readonly platform?: string;
  /** @default a program of a few bytes */
  readonly files?: readonly PackEntry[];
}

/** What goes wrong. */
interface Faults {
  /** Answers so many requests for archives only by half, and then drops the connection. */
  breakOffs?: number;
  /** What archives are recognised by. @default a tag of their content */
  etag?: () => string | undefined;
  /** Answers so many requests with status 503. */
  unavailable?: number;
  /** Signs with a key that it does not give out. */
  wrongKey?: boolean;
  armoredSignature?: boolean;
  /** Serves archives with a byte more. */
  damaged?: boolean;
  /** Wants this token for its documents. */
  token?: string;
  contentType?: string;
  protocols?: readonly string[];
  /** Versions that it gave up, with what it says of them. */
  gone?: ReadonlyMap<string, string>;
}

/** PEM. */
interface Identity {
  readonly certificate: string;
  readonly privateKey: string;
}

interface SeenRequest {
  readonly url: string;
  readonly authorization: string | undefined;
  readonly range: string | undefined;
  readonly status: number;
}

/**
 * A registry and a network mirror at once, on loopback, for tests. Its registry API begins at `/v1/`, the mirror at
 * `/mirror/`.
 */
export class LoopbackRegistry implements AsyncDisposable {
  readonly requests: SeenRequest[] = [];
  readonly faults: Faults = {};
  readonly #server: Server;
  readonly #archives = new Map<string, Buffer>();
  readonly #offers: readonly Required<Offered>[];
  readonly #keys: readonly { readonly privateKey: PrivateKey; readonly armored: string }[];

  readonly #identity: Identity | undefined;

  private constructor(
    offers: readonly Required<Offered>[],
    keys: readonly { readonly privateKey: PrivateKey; readonly armored: string }[],
    identity: Identity | undefined,
  ) {
    this.#offers = offers;
    this.#keys = keys;
    this.#identity = identity;
    const answer = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#answer(request, response);
    this.#server =
      identity === undefined
        ? createServer(answer)
        : createTlsServer({ cert: identity.certificate, key: identity.privateKey }, answer);
  }

  /** With an identity, for `localhost`, it is served over https. */
  static async start(offers: readonly Offered[], identity?: Identity): Promise<LoopbackRegistry> {
    const complete = offers.map((offer) => ({
      platform: "linux_amd64",
      files: filesOf(offer),
      ...offer,
    }));
    const registry = new LoopbackRegistry(complete, [await newKey(), await newKey()], identity);
    for (const offer of complete) {
      const parts: Uint8Array[] = [];
      for await (const part of packArchive(offer.files)) parts.push(part);
      registry.#archives.set(filenameOf(offer), Buffer.concat(parts));
    }
    await new Promise<void>((resolve) => registry.#server.listen(0, "127.0.0.1", resolve));
    return registry;
  }

  get host(): string {
    const name = this.#identity === undefined ? "127.0.0.1" : "localhost";
    return `${name}:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.#identity === undefined ? "http" : "https"}://${this.host}/`;
  }

  /** What makes the command, and us, take this for the registry of a host. */
  cliConfiguration(host: string): string {
    return `host "${host}" {\n  services = { "providers.v1" = "${this.url}v1/" }\n}\n`;
  }

  /** Archives are served anew from other bytes. */
  republish(files: readonly PackEntry[]): Promise<void> {
    return this.#repack(files);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #repack(files: readonly PackEntry[]): Promise<void> {
    for (const offer of this.#offers) {
      const parts: Uint8Array[] = [];
      for await (const part of packArchive(files)) parts.push(part);
      this.#archives.set(filenameOf(offer), Buffer.concat(parts));
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.url);
    const { authorization, range } = request.headers;
    response.on("close", () => {
      this.requests.push({ url: pathname, authorization, range, status: response.statusCode });
    });
    if ((this.faults.unavailable ?? 0) > 0) {
      this.faults.unavailable = (this.faults.unavailable ?? 0) - 1;
      response.writeHead(503).end();
      return;
    }
    const archive = this.#archives.get(pathname.replace(/^\/files\//, ""));
    if (archive !== undefined) this.#sendArchive(request, response, archive);
    else if (pathname === "/SHA256SUMS") response.end(this.#sums());
    else if (pathname === "/SHA256SUMS.sig") response.end(await this.#signature());
    else this.#sendDocument(request, response, pathname);
  }

  #sendDocument(request: IncomingMessage, response: ServerResponse, pathname: string): void {
    const { token, contentType = "application/json" } = this.faults;
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) {
      response.writeHead(401).end();
      return;
    }
    for (const [version, reason] of this.faults.gone ?? []) {
      if (!pathname.endsWith(`/${version}.json`) && !pathname.includes(`/${version}/`)) continue;
      const refusal = JSON.stringify({ errors: [reason] });
      response.writeHead(410, { "content-type": contentType }).end(refusal);
      return;
    }
    const document = pathname.startsWith("/mirror/")
      ? this.#mirrorDocument(pathname.slice("/mirror/".length))
      : this.#registryDocument(pathname);
    if (document === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": contentType }).end(JSON.stringify(document));
  }

  #registryDocument(pathname: string): object | undefined {
    if (pathname === "/.well-known/terraform.json") return { "providers.v1": "/v1/" };
    const [, , namespace = "", type = "", what = "", , os = "", arch = ""] = pathname.split("/");
    const offers = this.#offers.filter(({ source }) => source.endsWith(`/${namespace}/${type}`));
    const { protocols = ["5.0", "6.0"] } = this.faults;
    if (what === "versions" && offers.length > 0) {
      const versions = this.#listed(offers).map((version) => ({
        version,
        protocols,
        platforms: [],
      }));
      return { versions };
    }
    const offer = offers.find(
      ({ version, platform }) => version === what && platform === `${os}_${arch}`,
    );
    if (offer === undefined) return undefined;
    const filename = filenameOf(offer);
    return {
      protocols,
      os,
      arch,
      filename,
      download_url: `/files/${filename}`,
      shasum: sha256(this.#archives.get(filename) ?? Buffer.alloc(0)),
      shasums_url: "/SHA256SUMS",
      shasums_signature_url: "/SHA256SUMS.sig",
      signing_keys: { gpg_public_keys: [{ ascii_armor: this.#keys[0]?.armored }] },
    };
  }

  #mirrorDocument(path: string): object | undefined {
    const [file = "", ...parts] = path.split("/").toReversed();
    const offers = this.#offers.filter(({ source }) => source === parts.toReversed().join("/"));
    if (offers.length === 0) return undefined;
    if (file === "index.json") {
      return { versions: Object.fromEntries(this.#listed(offers).map((version) => [version, {}])) };
    }
    const archives = offers
      .filter(({ version }) => `${version}.json` === file)
      .map((offer) => {
        const filename = filenameOf(offer);
        const hashes = [`zh:${sha256(this.#archives.get(filename) ?? Buffer.alloc(0))}`];
        return [offer.platform, { url: `/files/${filename}`, hashes }] as const;
      });
    return archives.length === 0 ? undefined : { archives: Object.fromEntries(archives) };
  }

  #listed(offers: readonly Offered[]): string[] {
    return offers.map(({ version }) => version).filter((one) => !this.faults.gone?.has(one));
  }

  #sendArchive(request: IncomingMessage, response: ServerResponse, archive: Buffer): void {
    const etag = this.faults.etag === undefined ? `"${sha256(archive)}"` : this.faults.etag();
    const start = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const isPart = start > 0 && etag !== undefined && request.headers["if-range"] === etag;
    const sent = this.faults.damaged === true ? Buffer.concat([archive, Buffer.of(0)]) : archive;
    const rest = isPart ? sent.subarray(start) : sent;
    response.writeHead(isPart ? 206 : 200, {
      ...(etag !== undefined && { etag }),
      "content-length": rest.length,
      ...(isPart && { "content-range": `bytes ${start}-${sent.length - 1}/${sent.length}` }),
    });
    if ((this.faults.breakOffs ?? 0) === 0 || request.method === "HEAD") {
      response.end(rest);
      return;
    }
    this.faults.breakOffs = (this.faults.breakOffs ?? 0) - 1;
    response.write(rest.subarray(0, Math.ceil(rest.length / 2)), () => {
      setTimeout(() => response.destroy(), 20);
    });
  }

  #sums(): Buffer {
    const lines = [...this.#archives].map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`);
    return Buffer.from(lines.join(""));
  }

  async #signature(): Promise<Buffer> {
    const key = this.#keys[this.faults.wrongKey === true ? 1 : 0];
    if (key === undefined) return Buffer.alloc(0);
    const message = await createMessage({ binary: this.#sums() });
    const signingKeys = key.privateKey;
    if (this.faults.armoredSignature === true) {
      return Buffer.from(await sign({ message, signingKeys, detached: true, format: "armored" }));
    }
    return Buffer.from(await sign({ message, signingKeys, detached: true, format: "binary" }));
  }
}

/** A program that a shell runs. */
export function filesOf({ source, version }: Offered): readonly PackEntry[] {
  const { type } = ProviderAddress.parse(source);
  const content = Buffer.from(`#!/bin/sh\n# ${source} ${version}\n`);
  return [
    { path: `terraform-provider-${type}_v${version}`, mode: 0o755, content },
    { path: "LICENSE", content: Buffer.from("free\n") },
  ];
}

function filenameOf({ source, version, platform }: Required<Offered>): string {
  return `terraform-provider-${ProviderAddress.parse(source).type}_${version}_${platform}.zip`;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function newKey(): Promise<{ privateKey: PrivateKey; armored: string }> {
  const { privateKey } = await generateKey({
    userIDs: [{ name: "Test" }],
    type: "ecc",
    curve: "ed25519Legacy",
    config: { v6Keys: false },
    format: "object",
  });
  return { privateKey, armored: privateKey.toPublic().armor() };
}
