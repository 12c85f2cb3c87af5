import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { packArchive } from "@stackwright/provider-source";
import { beforeEach, expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const OWN = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");
const HOST = "registry.example.com";

beforeEach((context) => {
  const { status } = spawnSync(TERRAFORM, ["version"]);
  context.skip(status !== 0, `${TERRAFORM} cannot be run on this machine`);
});

it("terraform installs a provider through the mirror, and none from quarantine", {
  timeout: 120_000,
}, async () => {
  const origin = await startApi("none");
  await origin.call("PUT", "/api/v1/registry/namespaces/acme", { body: { public: true } });
  for (const version of ["1.0.0", "1.1.0"]) {
    const content = Buffer.from("#!/bin/sh\nexit 1\n");
    const entry = { path: `terraform-provider-demo_v${version}`, mode: 0o755, content };
    const made = await origin.call(
      "PUT",
      `/api/v1/registry/providers/acme/demo/${version}/linux_amd64`,
      {
        body: Uint8Array.from(await buffer(packArchive([entry]))),
        headers: { "content-type": "application/zip" },
      },
    );
    expect(made.status, made.text).toBeLessThan(300);
  }
  const { certificateFile, keyFile } = await localhostCertificate();
  const { server, first, tokenOf } = await startApi("none", {
    tls: { certificateFile, keyFile },
    host: "localhost",
    upstreamHosts: [`${HOST}=${origin.server.url}/terraform/v1/providers/`],
    upstreamNetworks: ["127.0.0.0/8", "::1/128"],
    upstreamNamespaces: [`vendor=${HOST}/acme`],
  });
  const place = `localhost:${new URL(server.url).port}`;
  const root = await terraformRoot(TERRAFORM, { SSL_CERT_FILE: certificateFile });
  await writeFile(
    root.env["TF_CLI_CONFIG_FILE"] ?? "",
    `provider_installation {
  network_mirror { url = "https://${place}/terraform/v1/upstream/" }
}
credentials "${place}" {
  token = "${await tokenOf("reader")}"
}
`,
  );
  await root.write(
    `terraform {\n  required_providers {\n    demo = { source = "${HOST}/acme/demo" }\n  }\n}\n`,
  );
  const own = await terraformRoot(process.execPath, {
    NODE_EXTRA_CA_CERTS: certificateFile,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: first.token,
  });
  const bad = ["providers", "quarantine", `${HOST}/acme/demo`, "1.1.0"];
  expect(await own.ok(OWN, ...bad, "--reason", "stolen key")).toContain(
    "No stack has objects of it",
  );
  expect(await own.ok(OWN, "providers", "quarantined")).toContain("stolen key");
  expect(await root.ok("init")).toContain("Installed registry.example.com/acme/demo v1.0.0");
  await own.ok(OWN, ...bad, "--lift");
  const token = await tokenOf("reader");
  /** A root whose provider is installed from a registry: terraform verifies the signature of the publisher itself. */
  const direct = async (source: string, configuration: string) => {
    const made = await terraformRoot(TERRAFORM, { SSL_CERT_FILE: certificateFile });
    await writeFile(made.env["TF_CLI_CONFIG_FILE"] ?? "", configuration);
    await made.write(
      `terraform {\n  required_providers {\n    demo = {\n      source = "${source}"\n      version = "1.0.0"\n    }\n  }\n}\n`,
    );
    return made;
  };
  const credentials = (host: string) => `credentials "${host}" {\n  token = "${token}"\n}\n`;
  const services = `{ "providers.v1" = "https://${place}/terraform/v1/upstream-providers/${HOST}/" }`;
  const byHost = await direct(
    `${HOST}/acme/demo`,
    `host "${HOST}" {\n  services = ${services}\n}\n${credentials(HOST)}`,
  );
  expect(await byHost.ok("init")).toContain(`Installed ${HOST}/acme/demo v1.0.0 (self-signed`);
  const anonymous = await direct(`${place}/vendor/demo`, "");
  expect(await anonymous.fails("init")).toContain("authentication credentials");
  const byName = await direct(`${place}/vendor/demo`, credentials(place));
  expect(await byName.ok("init")).toContain(`Installed ${place}/vendor/demo v1.0.0 (self-signed`);
  await origin.server.close();
  expect(await root.ok("init")).toContain("v1.0.0");
  const later = await direct(`${place}/vendor/demo`, credentials(place));
  expect(await later.ok("init")).toContain("v1.0.0 (self-signed");
  expect(await own.ok(OWN, "providers", "mirrored")).toContain(
    `${HOST}/acme/demo 1.0.0 linux_amd64`,
  );
  await own.ok(OWN, "providers", "evict", `${HOST}/acme/demo`);
  expect(await later.ok("init")).toContain("v1.0.0");
  const gone = await direct(`${place}/vendor/demo`, credentials(place));
  expect(await gone.fails("init")).toContain("502");
});
