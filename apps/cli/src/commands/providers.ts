import { join } from "node:path";
import { blockSchemaNode, JOINED_PROVIDERS_FILE, resourceSchemaNode } from "@stackwright/core";
import { encodeTypeJson } from "@stackwright/cty";
import type { ProviderMemberKind, ProviderSchema, ResourceSchema } from "@stackwright/mux/router";
import { LOCK_FILE_NAME, readLockFile } from "@stackwright/provider-source";
import { compactJson, type JsonNode } from "@stackwright/tfstate";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import {
  exactJson,
  type JsonMember,
  type JsonMembers,
  writeExactJson,
} from "../render/lossless-json.ts";
import { openEngine } from "../session/open-engine.ts";
import { loadProject } from "../session/project.ts";
import { openReader, type StoreOptions } from "../session/session.ts";

/** Lists which modules require which providers, in which versions, and of which programs those are made that have several. */
export async function providers(context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(context);
  const lock = await readLockFile(join(context.directory, LOCK_FILE_NAME));
  const pluginOf = (source: string): string => {
    const plugin = project.plugins.get(source);
    if (plugin === undefined) return "";
    const version = lock?.locks.get(plugin.address)?.version.toString() ?? "no version yet";
    return `  plug-in ${plugin.name}: ${version} from ${plugin.server}\n`;
  };
  for (const [source, { constraints, from }] of project.configuration.resolution.requirements) {
    const versions = constraints.toString();
    terminal.write(
      `${terminal.style.paint("strong", source)}${versions === "" ? "" : ` ${versions}`}\n`,
    );
    for (const { module, implied } of from) {
      const path = module.path.map((name) => `module.${name}`).join(".");
      const why = implied ? " (by the name of a resource type)" : "";
      terminal.write(`  ${path === "" ? "the root module" : path}${why}\n`);
    }
    terminal.write(pluginOf(source));
    for (const { name, address, constraints: wanted } of project.joined.get(source)?.programs ??
      []) {
      const version = wanted.toString();
      const what = `${address.toString()}${version === "" ? "" : ` ${version}`}`;
      terminal.write(`  program ${name}: ${what}\n`);
      terminal.write(pluginOf(address.toString()));
    }
  }
  return EXIT.ok;
}

const KIND_TEXTS: Readonly<Record<ProviderMemberKind, string>> = {
  resources: "resource",
  dataSources: "data",
  ephemeralResources: "ephemeral",
  functions: "function",
};

/** Starts the providers that are made of several programs, and lists which program serves which type, data source and function. */
export async function providersPrograms(
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(context);
  const joined = [...project.configuration.resolution.requirements.values()].filter(({ address }) =>
    project.joined.has(address.toString()),
  );
  if (joined.length === 0) {
    terminal.write(
      `No provider of the configuration is made of several programs (${JOINED_PROVIDERS_FILE}).\n`,
    );
    return EXIT.ok;
  }
  const session = await openReader(context, options);
  try {
    await using engine = await openEngine(project, context, {
      session,
      registry: options.registry,
    });
    for (const { address, constraints } of joined) {
      const source = address.toString();
      const version = await engine.catalog.select({ address, constraints });
      const [opened] = await engine.catalog.open({ source, version, alias: "" });
      await using _provider = opened.provider;
      terminal.write(`${terminal.style.paint("strong", source)}\n`);
      for (const kind of Object.keys(KIND_TEXTS) as ProviderMemberKind[]) {
        for (const [name, program] of [...(opened.programs?.[kind] ?? [])].toSorted(byName)) {
          terminal.write(`  ${KIND_TEXTS[kind]} ${name}: ${program}\n`);
        }
      }
    }
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

function byName([left]: readonly [string, string], [right]: readonly [string, string]): number {
  return left < right ? -1 : 1;
}

/** Writes the schemas of all required providers as JSON, in the form of `terraform providers schema -json`. */
export async function providersSchema(
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const project = await loadProject(context);
  const session = await openReader(context, options);
  try {
    await using engine = await openEngine(project, context, {
      session,
      registry: options.registry,
      remembersDigests: true,
    });
    const schemas: Record<string, JsonMember> = {};
    for (const [source, { address, constraints }] of project.configuration.resolution
      .requirements) {
      const version = await engine.catalog.select({ address, constraints });
      for (const { provider } of await engine.catalog.open({ source, version, alias: "" })) {
        await using opened = provider;
        schemas[source] = schemaJson((await opened.schema({})).schema);
      }
    }
    context.terminal.write(
      `${writeExactJson({ format_version: "1.0", provider_schemas: schemas })}\n`,
    );
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

function schemaJson(schema: ProviderSchema): JsonMember {
  return {
    provider: { version: 0, block: nodeJson(blockSchemaNode(schema.provider)) },
    ...someResources("resource_schemas", schema.resources),
    ...someResources("data_source_schemas", schema.dataSources),
    ...someResources("ephemeral_resource_schemas", schema.ephemeralResources),
    ...(schema.functions.size > 0 && {
      functions: Object.fromEntries(
        [...schema.functions].map(
          ([name, { description, summary, returnType, parameters, variadic }]) => [
            name,
            {
              description,
              summary,
              return_type: exactJson(encodeTypeJson(returnType)),
              ...(parameters.length > 0 && { parameters: parameters.map(parameterJson) }),
              ...(variadic !== undefined && { variadic_parameter: parameterJson(variadic) }),
            },
          ],
        ),
      ),
    }),
  };
}

function parameterJson(parameter: {
  readonly name: string;
  readonly description: string;
  readonly allowNull: boolean;
  readonly type: Parameters<typeof encodeTypeJson>[0];
}): JsonMember {
  return {
    name: parameter.name,
    ...(parameter.description !== "" && { description: parameter.description }),
    ...(parameter.allowNull && { is_nullable: true }),
    type: exactJson(encodeTypeJson(parameter.type)),
  };
}

function someResources(name: string, resources: ReadonlyMap<string, ResourceSchema>): JsonMembers {
  if (resources.size === 0) return {};
  const members = [...resources].map(([type, schema]) => [
    type,
    nodeJson(resourceSchemaNode(schema)),
  ]);
  return { [name]: Object.fromEntries(members) as JsonMembers };
}

function nodeJson(node: JsonNode): JsonMember {
  return exactJson(compactJson(node));
}
