import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { append } from "@stackwright/base/append";
import {
  bindBody,
  checkTree,
  createDirectoryFiles,
  type Diagnostic,
  didYouMean,
  EMPTY_BUNDLE,
  impliedProviderName,
  loadModuleTree,
  ModuleError,
  type ModuleNode,
  type ModulePackages,
  PROVIDER_META,
  RESOURCE_META,
  type ResourceConfig,
  type ResourceMode,
} from "@stackwright/lang";
import {
  DiagnosticSeverity,
  DiagnosticTag,
  type Diagnostic as ProtocolDiagnostic,
} from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";
import { overlayFiles } from "../index/overlay-files.ts";
import { providerBody, typesOfProvider } from "../schema/body-shape.ts";
import type { FeatureContext } from "./feature-context.ts";

const BLOCK_TYPES: Readonly<Record<ResourceMode, string>> = {
  managed: "resource",
  data: "data",
  ephemeral: "ephemeral",
};

const KINDS: Readonly<Record<ResourceMode, string>> = {
  managed: "resource type",
  data: "data source",
  ephemeral: "ephemeral resource type",
};

/** Packages are not brought while a file is edited. */
const NOT_INSTALLED: ModulePackages = {
  locate: async ({ call }) => {
    throw new ModuleError(
      "Module not installed",
      `The module "${call.name}" is not installed here. "stackwright init" brings it.`,
    );
  },
};

/**
 * Checks the module of a folder as it is in the editor: its text, its references, its calls of other modules, and its arguments by
 * the schemas that are known. No provider is asked, nothing is brought.
 */
export async function checkFolder(
  { workspace, schemas }: FeatureContext,
  folder: string,
  packages: ModulePackages = NOT_INSTALLED,
): Promise<readonly Diagnostic[]> {
  const machine = { workingDirectory: folder, home: homedir() };
  // An editor has files of folders that are not there yet, or not any more.
  const saved = existsSync(folder) ? createDirectoryFiles(folder, { machine }) : EMPTY_BUNDLE;
  const files = overlayFiles(saved, folder, workspace.openFiles);
  const { root, diagnostics } = await loadModuleTree(files, { packages });
  const context = { schemas, requiredProviders: workspace.requiredProviders(folder) };
  const body = (mode: ResourceMode, type: string) =>
    providerBody({ type: BLOCK_TYPES[mode], labels: [labelOf(type)] }, context);
  const references = checkTree(root, { schemaOf: (_module, { mode, type }) => body(mode, type) });
  return [...diagnostics, ...references, ...bodyProblems(root, body, context)];
}

function bodyProblems(
  { config }: ModuleNode,
  body: (mode: ResourceMode, type: string) => ReturnType<typeof providerBody>,
  context: Parameters<typeof providerBody>[1],
): Diagnostic[] {
  const found: Diagnostic[] = [];
  for (const resource of config.resources.values()) {
    const schema = body(resource.mode, resource.type);
    if (schema === undefined) {
      append(found, unknownType(resource, context));
      continue;
    }
    append(found, bindBody(resource.body, schema, { meta: RESOURCE_META }).diagnostics);
  }
  for (const provider of config.providers.values()) {
    const schema = providerBody({ type: "provider", labels: [labelOf(provider.name)] }, context);
    if (schema === undefined) continue;
    append(found, bindBody(provider.body, schema, { meta: PROVIDER_META }).diagnostics);
  }
  return found;
}

/** A type that its provider does not have, in the words of `validate`: after a save both find it, and it is shown once. */
function unknownType(
  { mode, type, token, provider, range }: ResourceConfig,
  context: Parameters<typeof providerBody>[1],
): Diagnostic[] {
  // A token names a type of Pulumi, which only the provider translates.
  if (token !== undefined) return [];
  const localName = provider?.name ?? impliedProviderName(type);
  const known = typesOfProvider(BLOCK_TYPES[mode], localName, context);
  if (known === undefined || known.names.has(type)) return [];
  const others = (["managed", "data"] as const).filter((other) => {
    const names = typesOfProvider(BLOCK_TYPES[other], localName, context)?.names;
    return other !== mode && mode !== "ephemeral" && names?.has(type) === true;
  });
  const [other] = others;
  const meant =
    other === undefined
      ? didYouMean(type, known.names)
      : ` It is a ${KINDS[other]}: write ${BLOCK_TYPES[other]} "${type}".`;
  const detail = `The provider ${known.source} has no ${KINDS[mode]} "${type}".${meant}`;
  return [
    {
      severity: "error",
      code: "ENGINE_PROVIDER_TYPE",
      summary: "Invalid resource type",
      detail,
      subject: range,
    },
  ];
}

function labelOf(value: string) {
  return { value } as Parameters<typeof providerBody>[0]["labels"][number];
}

/** The problems of the files of a folder, by path. What other folders have is theirs to show. */
export function problemsByFile(
  folder: string,
  diagnostics: readonly Diagnostic[],
  text: (path: string) => string | undefined,
): Map<string, ProtocolDiagnostic[]> {
  const found = new Map<string, ProtocolDiagnostic[]>();
  const seen = new Set<string>();
  for (const diagnostic of diagnostics) {
    const { subject, severity, code, summary, detail } = diagnostic;
    if (subject === undefined) continue;
    const { source } = subject;
    if (source.file.name.includes("/")) continue;
    const path = resolve(folder, source.file.name);
    const span = {
      start: source.fileOffset(subject.start),
      end: source.fileOffset(subject.end),
    };
    const key = JSON.stringify([path, span, summary, detail]);
    if (seen.has(key)) continue;
    seen.add(key);
    const list = found.get(path) ?? [];
    found.set(path, list);
    list.push({
      range: new Lines(text(path) ?? source.file.text).range(span),
      severity: severity === "error" ? DiagnosticSeverity.Error : DiagnosticSeverity.Warning,
      code,
      source: "stackwright",
      message: `${summary}: ${detail}`,
      ...(/deprecated/i.test(summary) && { tags: [DiagnosticTag.Deprecated] }),
    });
  }
  return found;
}
