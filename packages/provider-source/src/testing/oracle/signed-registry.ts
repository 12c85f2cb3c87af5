import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMessage, generateKey, readPrivateKey, sign } from "openpgp";
import { ProviderAddress } from "../../address/provider-address.ts";

/** An archive on offer. */
interface OfferedArchive {
  readonly source: string;
  readonly version: string;
  readonly platform: string;
  readonly path: string;
}

/** A provider registry on loopback over plain HTTP, whose lists of checksums are signed. */
export class SignedRegistry implements AsyncDisposable {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** What makes the command take this registry for the one of a host. */
  cliConfiguration(host: string): string {
    const services = `services = {\n    "providers.v1" = ${JSON.stringify(this.url)}\n  }`;
    return `host ${JSON.stringify(host)} {\n  ${services}\n}\n`;
  }

  static async start(archives: readonly OfferedArchive[]): Promise<SignedRegistry> {
    const key = await generateKey({
      userIDs: [{ name: "Test" }],
      type: "ecc",
      curve: "ed25519Legacy",
      config: { v6Keys: false },
      format: "armored",
    });
    const offered = await Promise.all(
      archives.map(async (archive) => {
        const content = await readFile(archive.path);
        const sha256 = createHash("sha256").update(content).digest("hex");
        const address = ProviderAddress.parse(archive.source);
        const filename = `terraform-provider-${address.type}_${archive.version}_${archive.platform}.zip`;
        return { ...archive, address, content, sha256, filename };
      }),
    );
    const sums = Buffer.from(
      offered.map(({ sha256, filename }) => `${sha256}  ${filename}\n`).join(""),
    );
    const signature = await sign({
      message: await createMessage({ binary: sums }),
      signingKeys: await readPrivateKey({ armoredKey: key.privateKey }),
      detached: true,
      format: "binary",
    });
    const replies = new Map<string, Buffer>([
      ["/SHA256SUMS", sums],
      ["/SHA256SUMS.sig", Buffer.from(signature as Uint8Array)],
    ]);
    for (const { address, version, platform, content, sha256, filename } of offered) {
      const [os = "", arch = ""] = platform.split("_");
      const base = `/${address.namespace}/${address.type}`;
      const platforms = offered.map((other) => other.platform.split("_"));
      const listed = platforms.map(([listedOs, listedArch]) => ({
        os: listedOs,
        arch: listedArch,
      }));
      replies.set(`/files/${filename}`, content);
      replies.set(
        `${base}/versions`,
        Buffer.from(
          JSON.stringify({ versions: [{ version, protocols: ["5.0"], platforms: listed }] }),
        ),
      );
      replies.set(
        `${base}/${version}/download/${os}/${arch}`,
        Buffer.from(
          JSON.stringify({
            protocols: ["5.0"],
            os,
            arch,
            filename,
            download_url: `/files/${filename}`,
            shasum: sha256,
            shasums_url: "/SHA256SUMS",
            shasums_signature_url: "/SHA256SUMS.sig",
            signing_keys: { gpg_public_keys: [{ ascii_armor: key.publicKey }] },
          }),
        ),
      );
    }
    const server = createServer((request, response) => {
      const reply = replies.get(request.url ?? "");
      response.writeHead(reply === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(reply);
    });
    await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
    return new SignedRegistry(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((settle) => this.#server.close(settle));
  }
}
