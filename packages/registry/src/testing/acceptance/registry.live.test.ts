import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { archiveFromBytes, hashArchive } from "@stackwright/provider-source";
import { createMessage, generateKey, readPrivateKey, sign } from "openpgp";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { claimNamespace } from "../../terraform/namespaces.ts";
import { packProvider } from "../pack-provider.ts";
import { TEST_CONTEXT } from "../registry-fixture.ts";
import { type AcceptanceServer, startAcceptanceServer } from "./acceptance-server.ts";
import { missingTerraform, TerraformFolder } from "./terraform-command.ts";

// The real command against our registry. What is called a canary holds for the command alone: it tells
// when a newer one behaves otherwise, and what our server has to guard against.

const missing = await missingTerraform();
const PLATFORMS = ["linux_amd64", "darwin_arm64"];

describe("the real command and the provider registry protocol", () => {
  let server: AcceptanceServer;
  const archives = new Map<string, Buffer>();

  beforeEach((context) => context.skip(missing !== undefined, missing));
  beforeAll(async () => {
    if (missing !== undefined) return;
    server = await startAcceptanceServer();
    for (const [name, isPublic] of [
      ["acme", true],
      ["secret", false],
      ["hashicorp", true],
    ] as const) {
      const namespace = { name, account: "acme", public: isPublic, granted: true };
      await claimNamespace(server.fixture.registry, namespace, TEST_CONTEXT);
    }
    for (const platform of PLATFORMS) {
      const archive = await packProvider("thing", Buffer.from(`#!/bin/sh\n# ${platform}\n`));
      archives.set(platform, archive);
      for (const namespace of ["acme", "secret"]) {
        await server.publish(`${namespace}/thing/1.0.0/${platform}`, archive);
      }
    }
    const only = await packProvider("old");
    await server.publish("acme/old/1.0.0/linux_amd64", only);
    await server.publish("acme/mac/1.0.0/darwin_arm64", await packProvider("mac"));
    server.take();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  afterEach(() => {
    if (missing !== undefined) return;
    Object.assign(server, { tamper: undefined, contentType: undefined });
    server.take();
  });

  const source = (name = "acme/thing"): string => `localhost:${server.port}/${name}`;
  const main = (from: string, constraint = "~> 1.0"): string =>
    `terraform {\n  required_providers {\n    t = { source = "${from}", version = "${constraint}" }\n  }\n}\n`;
  const folder = (
    name = "acme/thing",
    constraint?: string,
    rc?: string,
  ): Promise<TerraformFolder> =>
    TerraformFolder.create(server.ca, {
      main: main(source(name), constraint),
      ...(rc === undefined ? {} : { rc }),
    });
  const asked = (): string[] => server.take().map(({ what }) => what);

  it("A1, A2: installs, and locks every platform's archive", async () => {
    await using work = await folder();
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([0, expect.stringContaining("self-signed, key ID")]);
    expect(asked()).toEqual([
      "GET discovery",
      "GET versions",
      "GET download",
      "GET checksums",
      "GET signature",
      "HEAD archive",
      "GET archive",
    ]);
    const lock = await work.lockFile();
    for (const platform of PLATFORMS) {
      const bytes = archives.get(platform) ?? Buffer.alloc(0);
      expect(lock).toContain(`"zh:${createHash("sha256").update(bytes).digest("hex")}"`);
    }
    const here = archives.get("linux_amd64") ?? Buffer.alloc(0);
    expect(lock).toContain(`"${(await hashArchive(archiveFromBytes(here))).h1}"`);
  });

  it("A3: asks for versions again when everything is there, and fetches nothing", async () => {
    await using work = await folder();
    await work.run(["init"]);
    server.take();
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    expect(asked()).toEqual(["GET discovery", "GET versions"]);
  });

  it("A4: installs the same again", async () => {
    await using work = await folder();
    await work.run(["init"]);
    const before = await work.lockFile();
    await work.forget("installed");
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    expect(await work.lockFile()).toBe(before);
  });

  it("A5: would notice other bytes under the same version, which our API refuses", async () => {
    await using work = await folder("acme/old");
    await work.run(["init"]);
    const other = await packProvider("old", Buffer.from("#!/bin/sh\necho other\n"));
    expect(await server.publish("acme/old/1.0.0/linux_amd64", other)).toBe(409);

    // As a registry that lets it happen would answer.
    await using rival = await startAcceptanceServer();
    await claimNamespace(
      rival.fixture.registry,
      { name: "acme", account: "acme", public: true },
      TEST_CONTEXT,
    );
    await rival.publish("acme/old/1.0.0/linux_amd64", other);
    await work.forget("installed");
    const services = `services = { "providers.v1" = "http://127.0.0.1:${rival.plainPort}/terraform/v1/providers/" }`;
    await work.configure({ rc: `host "localhost:${server.port}" {\n  ${services}\n}\n` });
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([
      1,
      expect.stringContaining("doesn't match any of the checksums previously recorded"),
    ]);
  });

  it("A6: is not believed without its authority", async () => {
    await using work = await folder();
    const { exitCode, output } = await work.run(["init"], {
      SSL_CERT_FILE: "/etc/ssl/certs/ca-certificates.crt",
    });
    expect([exitCode, output]).toEqual([1, expect.stringMatching(/certificate/)]);
  });

  it("A7: refuses a private namespace without credentials", async () => {
    await using work = await folder("secret/thing");
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([
      1,
      expect.stringContaining("requires authentication credentials"),
    ]);
    expect(asked()).toEqual(["GET discovery", "GET versions"]);
    const token = `credentials "localhost:${server.port}" {\n  token = "wrong"\n}\n`;
    await using other = await folder("secret/thing", undefined, token);
    const refused = await other.run(["init"]);
    expect([refused.exitCode, refused.output]).toEqual([
      1,
      expect.stringContaining("rejected the given authentication credentials"),
    ]);
  });

  it("A8: takes a token for what the command sends one for, and no more", async () => {
    const { "x-auth-token": token } = await server.fixture.authorization("acme", "reader");
    const rc = `credentials "localhost:${server.port}" {\n  token = "${token}"\n}\n`;
    await using work = await folder("secret/thing", undefined, rc);
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    expect(server.take().map(({ what, bearer }) => [what, bearer])).toEqual([
      ["GET discovery", true],
      ["GET versions", true],
      ["GET download", true],
      ["GET checksums", false],
      ["GET signature", false],
      ["HEAD archive", false],
      ["GET archive", false],
    ]);
  });

  it("A9: refuses addresses of files that are changed or too old", async () => {
    await using work = await folder();
    server.tamper = (what, payload) =>
      what === "download" ? payload.toString().replace(/files\/./, "files/_") : undefined;
    const changed = await work.run(["init"]);
    expect([changed.exitCode, changed.output]).toEqual([1, expect.stringContaining("403")]);
    server.tamper = (what) => {
      if (what === "download") server.fixture.clock.setWallMs(Date.now() + 3_600_000);
      return undefined;
    };
    const late = await work.run(["init"]);
    server.fixture.clock.setWallMs(undefined);
    expect([late.exitCode, late.output]).toEqual([1, expect.stringContaining("403")]);
  });

  it("A10: knows nothing of another account's namespace", async () => {
    const { "x-auth-token": token } = await server.fixture.authorization("other", "admin");
    const rc = `credentials "localhost:${server.port}" {\n  token = "${token}"\n}\n`;
    await using work = await folder("secret/thing", undefined, rc);
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([1, expect.stringContaining("does not have a provider")]);
  });

  it("A11, canary: a signature by another key is refused", async () => {
    const list = await checksums();
    const signature = await signWith(list, { curve: "ed25519Legacy" });
    await refusedWith("authentication signature from unknown issuer", (what) =>
      what === "signature" ? signature : undefined,
    );
  });

  it("A12, canaries: armoured signatures and keys of version 6 are refused", async () => {
    const list = await checksums();
    const armoured = await signWith(list, { curve: "ed25519Legacy", armoured: true });
    await refusedWith("tag byte does not have MSB set", (what) =>
      what === "signature" ? armoured : undefined,
    );
    const { publicKey } = await generateKey({
      userIDs: [{ name: "Test" }],
      type: "curve25519",
      config: { v6Keys: true },
      format: "armored",
    });
    await refusedWith("first packet was not a public/private key", (what, payload) => {
      if (what !== "download") return undefined;
      const answer = JSON.parse(payload.toString()) as {
        signing_keys: { gpg_public_keys: { ascii_armor: string }[] };
      };
      const [key] = answer.signing_keys.gpg_public_keys;
      if (key !== undefined) key.ascii_armor = publicKey;
      return JSON.stringify(answer);
    });
  });

  it("A13: providers of protocol 4 are refused by our API, and by the command", async () => {
    expect(
      await server.publish("acme/four/1.0.0/linux_amd64", await packProvider("four"), "4.0"),
    ).toBe(400);
    await refusedWith("Incompatible provider version", (what, payload) =>
      what === "versions" || what === "download"
        ? payload.toString().replaceAll('"5.0"', '"4.0"')
        : undefined,
    );
  });

  it("A14: versions that none satisfies are named", async () => {
    await using work = await folder("acme/thing", "~> 9.7");
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([1, expect.stringContaining("~> 9.7")]);
  });

  it("A15: a platform that is missing is named", async () => {
    await using work = await folder("acme/mac");
    const { exitCode, output } = await work.run(["init"]);
    expect([exitCode, output]).toEqual([1, expect.stringContaining("linux_amd64")]);
  });

  it("A16, canary: without its last slash the base address loses its last part", async () => {
    await refusedWith("", (what) =>
      what === "discovery" ? '{"providers.v1":"/terraform/v1/providers"}' : undefined,
    );
    expect(server.seen.map(({ path }) => path)).toContain("/terraform/v1/acme/thing/versions");
  });

  it("A17, canary: another content type of the discovery document is refused", async () => {
    server.contentType = (what) => (what === "discovery" ? "text/plain" : undefined);
    await refusedWith("unsupported Content-Type", undefined);
  });

  it("A18: a host block leads past discovery, also to plain HTTP", async () => {
    const base = `http://127.0.0.1:${server.plainPort}/terraform/v1/providers/`;
    const rc = `host "registry.corp.test" {\n  services = { "providers.v1" = "${base}" }\n}\n`;
    await using work = await TerraformFolder.create(server.ca, {
      main: main("registry.corp.test/acme/thing"),
      rc,
    });
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    expect(asked()).not.toContain("GET discovery");
  });

  it("A19: locks platforms of others", async () => {
    await using work = await folder();
    const result = await work.run(["providers", "lock", "-platform=linux_amd64"]);
    expect(result).toMatchObject({ exitCode: 0 });
    expect(await work.lockFile()).toMatch(/h1:[\s\S]*zh:/);
  });

  it("A20: what our packer makes is the same each time, and runs", async (context) => {
    const binary = process.env["TEST_TOOL_TERRAFORM_PROVIDER_RANDOM"];
    context.skip(binary === undefined, "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM names no provider");
    const executable = await readFile(binary ?? "");
    const archive = await packProvider("random", executable);
    expect((await packProvider("random", executable)).equals(archive)).toBe(true);
    expect(await server.publish("hashicorp/random/3.9.0/linux_amd64", archive)).toBe(201);
    const broken = await packProvider("random", executable, 0o644);
    expect(await server.publish("hashicorp/random/3.9.1/linux_amd64", broken)).toBe(422);

    const resource = 'resource "random_pet" "it" {\n  provider = t\n}\n';
    await using work = await TerraformFolder.create(server.ca, {
      main: main(source("hashicorp/random"), "3.9.0") + resource,
    });
    expect(await work.run(["init"])).toMatchObject({ exitCode: 0 });
    const plan = await work.run(["plan"]);
    expect([plan.exitCode, plan.output]).toEqual([0, expect.stringContaining("1 to add")]);

    // Canary: through a mirror without hashes such an archive installs, and cannot be run.
    server.files.set("broken.zip", broken);
    server.tamper = (what) =>
      what === "version" ? '{"archives":{"linux_amd64":{"url":"/fixture/broken.zip"}}}' : undefined;
    await using other = await TerraformFolder.create(server.ca, {
      main: main("example.test/hashicorp/random", "3.9.0") + resource,
      rc: `provider_installation {\n  network_mirror {\n    url = "https://localhost:${server.port}/terraform/v1/mirror/"\n  }\n}\n`,
    });
    expect(await other.run(["init"])).toMatchObject({ exitCode: 0 });
    const failed = await other.run(["plan"]);
    expect([failed.exitCode, failed.output]).toEqual([
      1,
      expect.stringContaining("permission denied"),
    ]);
  });

  async function refusedWith(text: string, tamper: AcceptanceServer["tamper"]): Promise<void> {
    server.tamper = tamper;
    await using work = await folder();
    const { exitCode, output } = await work.run(["init"]);
    server.tamper = undefined;
    expect([exitCode, output]).toEqual([1, expect.stringContaining(text)]);
  }

  async function checksums(): Promise<Buffer> {
    const lines = PLATFORMS.map((platform) => {
      const bytes = archives.get(platform) ?? Buffer.alloc(0);
      const digest = createHash("sha256").update(bytes).digest("hex");
      return `${digest}  terraform-provider-thing_1.0.0_${platform}.zip\n`;
    });
    return Buffer.from(lines.join(""));
  }
});

async function signWith(
  list: Buffer,
  { curve, armoured = false }: { curve: "ed25519Legacy"; armoured?: boolean },
): Promise<Buffer> {
  const { privateKey } = await generateKey({
    userIDs: [{ name: "Another" }],
    type: "ecc",
    curve,
    config: { v6Keys: false },
    format: "armored",
  });
  const options = {
    message: await createMessage({ binary: new Uint8Array(list) }),
    signingKeys: await readPrivateKey({ armoredKey: privateKey }),
    detached: true,
  } as const;
  return armoured
    ? Buffer.from(await sign({ ...options, format: "armored" }))
    : Buffer.from(await sign({ ...options, format: "binary" }));
}
