import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type PackEntry, packArchive, parseFunctionUrn } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { claimNamespace } from "../provider-kit/claim-namespace.ts";
import { type ProviderProject, readProviderProject } from "../provider-kit/project-file.ts";
import { callRegistry, registryError } from "../provider-kit/registry-calls.ts";
import { releasePlatforms, releaseVersion } from "../provider-kit/release-parts.ts";
import { type ServerAccess, serverAccess } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

export interface ProviderPublishOptions {
  readonly server?: string;
  readonly version?: string;
  /** URN of the function that the provider is, in place of a program. */
  readonly function?: string;
  readonly platform: readonly string[];
  readonly protocols: string;
  /** Claims the namespace without a question where it is not the account's yet. */
  readonly claim: boolean;
}

const MAX_BYTES = 512 * 1024 ** 2;
const NODE_SCRIPT = /^#![^\n]*\bnode\b/;
/** Node takes the end of a name such as `terraform-provider-notes_v0.1.0` for an extension, and runs no such file. */
const LAUNCHER = '#!/bin/sh\nexec node "$(dirname "$0")/provider.mjs" "$@"\n';

/**
 * Publishes the provider of the folder on a server: its program as archives of the registry, which the server signs, or the function that
 * it is. A version that is there with other content is refused.
 */
export async function providerPublish(
  options: ProviderPublishOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const project = await readProviderProject(context);
  const version = releaseVersion(options.version ?? project.version);
  const access = await serverAccess(context, options.server);
  return options.function === undefined
    ? publishProgram(project, version, options, access, context)
    : publishFunction(project, version, options.function, access, context);
}

async function publishProgram(
  project: ProviderProject,
  version: string,
  { platform, protocols, claim }: ProviderPublishOptions,
  access: ServerAccess,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const [, namespace = "", type = ""] = project.address.toString().split("/");
  const program = await readProgram(project);
  const isScript = program.subarray(0, 2).toString("latin1") === "#!";
  const platforms = releasePlatforms(platform, isScript).map((one) => one.toString());
  const archive = await pack(`terraform-provider-${type}_v${version}`, program);
  const encoded = [namespace, type, version].map(encodeURIComponent);
  await claimNamespace(namespace, claim, access, context);
  let added = 0;
  for (const target of platforms) {
    const path = `/api/v1/registry/providers/${encoded.join("/")}/${target}?protocols=${encodeURIComponent(protocols)}`;
    const answer = await callRegistry(access, { method: "PUT", path, archive }, signal);
    if (answer.status !== 200 && answer.status !== 201) {
      throw registryError(`${type} ${version} for ${target} was not published`, answer, access);
    }
    if (answer.status === 201) added += 1;
    const said = answer.status === 201 ? "Published" : "Was published before:";
    terminal.write(`${said} ${namespace}/${type} ${version} for ${target}\n`);
  }
  if (added > 0) {
    terminal.write(useText(`${namespace}/${type}`, version, new URL(access.server)));
  }
  return EXIT.ok;
}

/**
 * How a template names it. Registries are found by HTTPS alone: without TLS a file has to say where this one is, but not to runs of the server
 * itself.
 */
function useText(provider: string, version: string, { host, protocol, origin }: URL): string {
  const isFound = protocol === "https:";
  const registry = isFound ? host : "registry.example.com";
  const lines = [
    "",
    "In the template:",
    `  source = "${registry}/${provider}", version = "${version}"`,
  ];
  if (!isFound) {
    lines.push(
      "",
      `Runs of the server find it as "${host}/${provider}".`,
      "For others, as the server has no TLS, the file that TF_CLI_CONFIG_FILE names says where it is:",
      `  host "${registry}" {`,
      "    services = {",
      `      "providers.v1" = "${origin}/terraform/v1/providers/"`,
      "    }",
      "  }",
    );
  }
  return lines.map((line) => `${line}\n`).join("");
}

async function publishFunction(
  { name }: ProviderProject,
  version: string,
  urn: string,
  access: ServerAccess,
  { terminal, signal }: CommandContext,
): Promise<ExitCode> {
  if (parseFunctionUrn(urn) === undefined) {
    throw new CommandError(`"${printable(urn)}" is not the URN of a function.`, {
      advice: "It has the form urn:fss:REGION:PROJECT:function:default:NAME:latest.",
    });
  }
  const first = await callRegistry(
    access,
    {
      method: "POST",
      path: "/v1/private-providers",
      json: { provider_name: name, provider_version: version, function_graph_urn: urn },
    },
    signal,
  );
  const answer =
    first.status === 409
      ? await callRegistry(
          access,
          {
            method: "POST",
            path: `/v1/private-providers/${encodeURIComponent(name)}/versions`,
            json: { provider_version: version, function_graph_urn: urn },
          },
          signal,
        )
      : first;
  if (answer.status !== 201)
    throw registryError(`${name} ${version} was not published`, answer, access);
  terminal.write(`Published huawei.com/private-provider/${name} ${version}\n`);
  const path = `/api/v1/registry/private-providers/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}/checks`;
  const health = await callRegistry(access, { method: "POST", path }, signal);
  if (health.body["healthy"] === false) {
    const reason = health.body["reason"];
    const why = typeof reason === "string" ? `: ${printable(reason)}` : "";
    terminal.writeError(`Warning: the server cannot call the function${why}\n`);
  }
  return EXIT.ok;
}

async function readProgram({ directory, program }: ProviderProject): Promise<Buffer> {
  if (program === undefined) {
    throw new CommandError('The project names no "program" to publish.', {
      advice: "Name the file in stackwright.provider.json, or publish a function with --function.",
    });
  }
  const path = resolve(directory, program);
  const stats = await stat(path).catch((cause: unknown) => {
    throw new CommandError(`There is no program "${program}".`, {
      cause,
      advice: "Build it first: npm run build",
    });
  });
  if (!stats.isFile()) throw new CommandError(`"${program}" is not a file.`);
  if (stats.size > MAX_BYTES) {
    throw new CommandError(`"${program}" has more than ${MAX_BYTES / 1024 ** 2} MiB.`);
  }
  return readFile(path);
}

/** Equal programs make equal archives, so that publishing the same again is no change. */
async function pack(name: string, program: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  const entries: PackEntry[] = NODE_SCRIPT.test(program.subarray(0, 200).toString("latin1"))
    ? [
        { path: name, mode: 0o755, content: Buffer.from(LAUNCHER) },
        { path: "provider.mjs", content: program },
      ]
    : [{ path: name, mode: 0o755, content: program }];
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(entries)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
