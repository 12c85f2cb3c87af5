import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { Platform, packArchive } from "@stackwright/provider-source";
import { expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

// Our own command as a client of the network mirrors of a server: that of upstream registries, and that of its own registry.

const OWN = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const LOCK = ".terraform.lock.hcl";
const ADVICE =
  'allow another version and update the lock file with "init -upgrade", or let an administrator of the server that gave it up offer this one again';

type Api = Awaited<ReturnType<typeof startApi>>;

async function publish({ call }: Api, type: string, version: string, program: Buffer) {
  const claim = await call("PUT", "/api/v1/registry/namespaces/acme", { body: { public: true } });
  expect(claim.status, claim.text).toBe(200);
  const entry = {
    path: `terraform-provider-${type}_v${version}`,
    mode: 0o755,
    content: program,
  };
  const platform = Platform.ofNode().toString();
  const made = await call("PUT", `/api/v1/registry/providers/acme/${type}/${version}/${platform}`, {
    body: Uint8Array.from(await buffer(packArchive([entry]))),
    headers: { "content-type": "application/zip" },
  });
  expect(made.status, made.text).toBeLessThan(300);
}

const requires = (name: string, source: string, constraint: string): string => `
terraform {
  required_providers {
    ${name} = {
      source  = "${source}"
      version = "${constraint}"
    }
  }
}
`;

/** Makes roots whose command installs from a network mirror. */
function rootsOf(mirror: string, credentials: string, certificateFile: string) {
  return async (configuration: string, lock?: string, given = credentials) => {
    const root = await terraformRoot(process.execPath, { NODE_EXTRA_CA_CERTS: certificateFile });
    await writeFile(
      root.env["TF_CLI_CONFIG_FILE"] ?? "",
      `provider_installation {\n  network_mirror {\n    url = "${mirror}"\n  }\n}\n${given}`,
    );
    await root.write(configuration);
    if (lock !== undefined) await root.write(lock, LOCK);
    return { ...root, lock: async () => readFile(join(root.directory, LOCK), "utf8") };
  };
}

it("our command installs and uses a provider through the mirror, and none that is in quarantine", {
  timeout: 300_000,
}, async (context) => {
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const host = "registry.example.com";
  const source = `${host}/acme/lab`;
  const origin = await startApi("none");
  const program = await readFile(LAB);
  for (const version of ["1.0.0", "1.1.0"]) await publish(origin, "lab", version, program);
  const { certificateFile, keyFile } = await localhostCertificate();
  const { server, first, tokenOf } = await startApi("none", {
    tls: { certificateFile, keyFile },
    host: "localhost",
    upstreamHosts: [`${host}=${origin.server.url}/terraform/v1/providers/`],
    upstreamNetworks: ["127.0.0.0/8", "::1/128"],
  });
  const place = new URL(server.url).host;
  const mirror = `https://${place}/terraform/v1/upstream/`;
  const credentials = `credentials "${place}" {\n  token = "${await tokenOf("reader")}"\n}\n`;
  const rootOf = rootsOf(mirror, credentials, certificateFile);
  const configuration = `${requires("lab", source, "~> 1.0")}
provider "lab" { directory = "objects" }
resource "lab_object" "a" { name = "a" }
`;
  const stranger = await rootOf(configuration, undefined, "");
  expect(await stranger.fails(OWN, "init")).toContain(`${place} wants credentials`);

  const root = await rootOf(configuration);
  expect(await root.ok(OWN, "init")).toContain(`Installed ${source} 1.1.0 (hash of a mirror)`);
  const lock = await root.lock();
  expect(lock).toMatch(
    /^provider "registry\.example\.com\/acme\/lab" \{\n {2}version {5}= "1\.1\.0"\n {2}constraints = "~> 1\.0"\n {2}hashes = \[\n {4}"h1:/m,
  );
  await mkdir(join(root.directory, "objects"));
  expect(await root.ok(OWN, "up", "--yes")).toContain("1 added");
  expect(await readdir(join(root.directory, "objects"))).not.toEqual([]);

  const operator = await terraformRoot(process.execPath, {
    NODE_EXTRA_CA_CERTS: certificateFile,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: first.token,
  });
  const quarantine = ["providers", "quarantine", source, "1.1.0"];
  await operator.ok(OWN, ...quarantine, "--reason", "stolen key");
  const refusal = `Error: the mirror ${mirror} no longer offers ${source} 1.1.0 (version 1.1.0 is in quarantine: stolen key); ${ADVICE}`;
  const clone = await rootOf(configuration, lock);
  expect(await clone.fails(OWN, "init")).toContain(refusal);
  const exact = await rootOf(requires("lab", source, "1.1.0"));
  expect(await exact.fails(OWN, "init")).toContain(refusal);
  const newer = await rootOf(requires("lab", source, "> 1.0.0"));
  expect(await newer.fails(OWN, "init")).toContain(
    `no version of ${source} is allowed by > 1.0.0; there are 1.0.0 in the mirror ${mirror}`,
  );
  for (const { directory } of [clone, exact, newer]) {
    expect(await readdir(join(directory, ".stackwright/providers")).catch(() => [])).toEqual([]);
  }
  // What the error says to do.
  expect(await clone.ok(OWN, "init", "-upgrade")).toContain(`Installed ${source} 1.0.0`);
  expect(await clone.lock()).toContain('version     = "1.0.0"');

  await operator.ok(OWN, ...quarantine, "--lift");
  await origin.server.close();
  const later = await rootOf(configuration, lock);
  expect(await later.ok(OWN, "init", "-lockfile=readonly")).toContain(`Installed ${source} 1.1.0`);
  expect(await later.lock()).toBe(lock);
});

it("our command says of a version that was withdrawn upstream by whom, and what to do", {
  timeout: 180_000,
}, async () => {
  const host = "registry.example.com";
  const source = `${host}/acme/demo`;
  const origin = await startApi("none");
  const program = Buffer.from("#!/bin/sh\nexit 1\n");
  for (const version of ["1.0.0", "1.1.0"]) await publish(origin, "demo", version, program);
  const { certificateFile, keyFile } = await localhostCertificate();
  const { server, tokenOf } = await startApi("none", {
    tls: { certificateFile, keyFile },
    host: "localhost",
    upstreamHosts: [`${host}=${origin.server.url}/terraform/v1/providers/`],
    upstreamNetworks: ["127.0.0.0/8", "::1/128"],
  });
  const place = new URL(server.url).host;
  const mirror = `https://${place}/terraform/v1/upstream/`;
  const credentials = `credentials "${place}" {\n  token = "${await tokenOf("reader")}"\n}\n`;
  const rootOf = rootsOf(mirror, credentials, certificateFile);
  await origin.call("DELETE", "/api/v1/registry/providers/acme/demo/1.1.0");
  const exact = await rootOf(requires("demo", source, "1.1.0"));
  expect(await exact.fails(OWN, "init")).toMatch(
    new RegExp(
      `no longer offers ${source} 1\\.1\\.0 \\(version 1\\.1\\.0 was withdrawn upstream, by the registry of ${host}: version 1\\.1\\.0 was withdrawn at 2\\S+Z\\); ${ADVICE}`,
    ),
  );
  // What the error says to do.
  await exact.write(requires("demo", source, "~> 1.0"));
  expect(await exact.ok(OWN, "init", "-upgrade")).toContain(`Installed ${source} 1.0.0`);
});

it("our command is refused a version that was withdrawn, by the mirror and by the registry", {
  timeout: 180_000,
}, async () => {
  const host = "providers.example.com";
  const { certificateFile, keyFile } = await localhostCertificate();
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, await readFile(certificateFile, "utf8")]);
  onTestFinished(() => setDefaultCACertificates(before));
  const api = await startApi("none", {
    tls: { certificateFile, keyFile },
    host: "localhost",
    mirrorHosts: [host],
  });
  const program = Buffer.from("#!/bin/sh\nexit 1\n");
  for (const version of ["1.0.0", "1.1.0"]) await publish(api, "demo", version, program);
  const place = new URL(api.server.url).host;
  const mirror = `https://${place}/terraform/v1/mirror/`;
  const rootOf = rootsOf(mirror, "", certificateFile);
  const source = `${host}/acme/demo`;
  const configuration = requires("demo", source, "~> 1.0");
  const root = await rootOf(configuration);
  expect(await root.ok(OWN, "init")).toContain(`Installed ${source} 1.1.0 (hash of a mirror)`);
  const lock = await root.lock();
  expect(lock).toContain('version     = "1.1.0"');

  const withdrawn = "/api/v1/registry/providers/acme/demo/1.1.0";
  expect((await api.call("DELETE", withdrawn)).status).toBe(204);
  /** What `init` says in a root; that it says when the version was withdrawn is seen here. */
  const refused = async (one: Pick<typeof root, "fails">) => {
    const text = await one.fails(OWN, "init");
    expect(text).toMatch(/ was withdrawn at 2\S+Z\)/);
    return text.replace(/ at 2\S+Z\)/, ")");
  };
  const refusal = (where: string, what: string) =>
    `Error: ${where} no longer offers ${what} 1.1.0 (version 1.1.0 was withdrawn); ${ADVICE}`;
  const clone = await rootOf(configuration, lock);
  expect(await refused(clone)).toContain(refusal(`the mirror ${mirror}`, source));
  const exact = await rootOf(requires("demo", source, "1.1.0"));
  expect(await refused(exact)).toContain(refusal(`the mirror ${mirror}`, source));
  // A command that asks the registry itself.
  const direct = await terraformRoot(process.execPath, { NODE_EXTRA_CA_CERTS: certificateFile });
  const own = `${place}/acme/demo`;
  await direct.write(requires("demo", own, "1.1.0"));
  expect(await refused(direct)).toContain(refusal(`the registry of ${place}`, own));
  // What the error says to do.
  expect(await clone.ok(OWN, "init", "-upgrade")).toContain(`Installed ${source} 1.0.0`);
  expect(await clone.lock()).toContain('version     = "1.0.0"');

  await publish(api, "demo", "1.1.0", program);
  const later = await rootOf(configuration, lock);
  expect(await later.ok(OWN, "init", "-lockfile=readonly")).toContain(`Installed ${source} 1.1.0`);
  expect(await later.lock()).toBe(lock);
});
