import { spawnSync } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { packArchive } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import { pageBlocks, startPageServer } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";
import { startServer } from "../testing/start-server.ts";

// apps/engine/docs/provider-mirror.md as a reader follows it: its files and commands as they are written there, with another port, a certificate of
// the test, and a server of this project that stands for the registry.

const PAGE = "apps/engine/docs/provider-mirror.md";
const DEMO = "registry.terraform.io/acme/demo";

/** A registry with providers that nothing starts. */
async function startRegistry(providers: Readonly<Record<string, readonly string[]>>) {
  const { server, token } = await startServer("none");
  const put = async (path: string, type: string, body: Uint8Array<ArrayBuffer> | string) => {
    const headers = {
      authorization: `Bearer ${token}`,
      "client-request-id": crypto.randomUUID(),
      "content-type": type,
    };
    const answer = await fetch(server.url + path, { method: "PUT", headers, body });
    expect(answer.ok, await answer.text()).toBe(true);
  };
  for (const [name, versions] of Object.entries(providers)) {
    const [namespace = "", type = ""] = name.split("/");
    const claim = JSON.stringify({ public: true });
    await put(`/api/v1/registry/namespaces/${namespace}`, "application/json", claim);
    for (const version of versions) {
      const content = Buffer.from("#!/bin/sh\nexit 1\n");
      const entry = { path: `terraform-provider-${type}_v${version}`, mode: 0o755, content };
      const archive = Uint8Array.from(await buffer(packArchive([entry])));
      const path = `/api/v1/registry/providers/${name}/${version}/linux_amd64`;
      await put(path, "application/zip", archive);
    }
  }
  return `${server.url}/terraform/v1/providers/`;
}

it("the page about the mirror leads to providers of three addresses, an eviction and a quarantine", {
  timeout: 240_000,
}, async (context) => {
  const hasTerraform = spawnSync("terraform", ["version"]).status === 0;
  context.skip(!hasTerraform, "the page is followed with terraform, which is not installed");
  const registry = await startRegistry({
    "acme/demo": ["1.0.0", "1.1.0"],
    "hashicorp/random": ["3.7.0"],
  });
  const page = await createPageFolder({ CHECKPOINT_DISABLE: "1", TF_CLI_ARGS_init: "-no-color" });
  const { folder } = page;
  const [first = "", second = "", evict = "", quarantine = "", ...blocks] = await pageBlocks(
    PAGE,
    "sh",
  );
  const [mirror = "", host = "", required = "", ...files] = await pageBlocks(PAGE, "hcl");
  expect([blocks.length, files.length]).toEqual([0, 0]);

  const identity = createSelfSignedIdentity({ name: "localhost" });
  await writeFile(join(folder, "tls.pem"), String(identity.certificate));
  await writeFile(join(folder, "tls.key"), String(identity.privateKey));
  const further = ["--host", "localhost", "--tls-certificate", "tls.pem", "--tls-key", "tls.key"];
  further.push("--upstream-network", "127.0.0.0/8");
  const begin = async (serve: string) => {
    const upstream = "--upstream-host registry.terraform.io";
    expect(serve).toContain(upstream);
    const server = await startPageServer(
      serve.replace(upstream, `${upstream}=${registry}`),
      page,
      further,
    );
    const { host: place } = new URL(server.url);
    const shell = async (script: string, directory?: string) =>
      page.shell(
        `export SSL_CERT_FILE=$HOME/tls.pem STACKWRIGHT_SERVER=${server.url} TF_CLI_CONFIG_FILE=$HOME/trial.tfrc
export STACKWRIGHT_TOKEN=$(node -p 'require(process.env.HOME + "/first.json").token')
${script}`,
        directory,
      );
    const here = (text: string) => text.replaceAll("stackwright.example", place);
    /** Initializes a new root module with a CLI configuration of the page; with what it says. */
    const init = async (configuration: string, requirement: string) => {
      const root = join(folder, "root");
      await rm(root, { recursive: true, force: true });
      await mkdir(root);
      await writeFile(join(root, "main.tf"), here(requirement));
      const token = `"'"$STACKWRIGHT_TOKEN"'"`;
      await shell(`printf '%s' '${here(configuration).replace('"..."', token)}' > trial.tfrc`);
      return shell("terraform init 2>&1 || test $? = 1", root);
    };
    return { ...server, shell, init };
  };
  const demo = `terraform {\n  required_providers {\n    demo = { source = "acme/demo" }\n  }\n}\n`;

  const one = await begin(first);
  expect(await one.init(mirror, demo)).toContain("Installed acme/demo v1.1.0");
  expect(await one.init(host, demo)).toContain("Installed acme/demo v1.1.0 (self-signed");
  await one.stop();

  const { shell, init } = await begin(second);
  const credentials = mirror.slice(mirror.indexOf("credentials"));
  expect(await init(credentials, required)).toMatch(/Installed \S+\/hashicorp\/random v3\.7\.0/);
  const [list = "", version = "", bytes = "", all = ""] = evict.split("\n");
  expect(await shell(list)).toContain(`${DEMO} 1.1.0 linux_amd64`);
  await shell(version);
  expect(await shell(list)).not.toContain(DEMO);
  await shell(bytes);
  expect(await shell(list)).toContain("hashicorp/random 3.7.0");
  await shell(all);
  expect(await shell(list)).toBe("");

  const [put = "", shown = "", end = ""] = quarantine.split("\n");
  expect(await shell(`${put}\n${shown}`)).toContain("stolen key");
  expect(await init(mirror, demo)).toContain("Installed acme/demo v1.0.0");
  await shell(end);
  expect(await init(mirror, demo)).toContain("Installed acme/demo v1.1.0");
});
