import {
  type BodySchema,
  type ContentBlock,
  readAttributes,
  readBody,
} from "../config/body-content.ts";
import { decodeProvider } from "../config/decode-provider.ts";
import { blockName } from "../config/decode-values.ts";
import type { ProviderConfig } from "../config/module-config.ts";
import { parseConfigBody } from "../config/parse-config-body.ts";
import { rangeOf, StaticReader } from "../config/static-reader.ts";
import { type Diagnostic, sortDiagnostics } from "../syntax/diagnostic.ts";
import {
  decodeDefaults,
  decodeDuring,
  decodeOverrides,
  OVERRIDE_BLOCKS,
} from "./decode-override.ts";
import { decodeRun, onlyBlock } from "./decode-run.ts";
import type { MockProvider, TestFile, TestProvider, TestRun } from "./test-file.ts";

const MOCK_BLOCKS = {
  mock_resource: ["type"],
  mock_data: ["type"],
  ...OVERRIDE_BLOCKS,
} as const satisfies BodySchema["blocks"];

const FILE: BodySchema = {
  blocks: {
    test: [],
    run: ["name"],
    variables: [],
    provider: ["name"],
    mock_provider: ["name"],
    ...OVERRIDE_BLOCKS,
  },
};

/** A file as far as it was understood, and what is wrong with it. */
interface Loaded<T> {
  readonly file: T;
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Reads a test file, JSON where its name ends with `.json`.
 *
 * @param name its path from the root module, for messages
 */
export function loadTestFile(name: string, text: string | Uint8Array): Loaded<TestFile> {
  const diagnostics: Diagnostic[] = [];
  const reader = new StaticReader(diagnostics);
  const { blocks } = readBody(parseConfigBody({ name, text }, diagnostics), FILE, diagnostics);
  const variables = onlyBlock(reader, blocks, "variables");
  const parallel = decodeTestBlock(reader, onlyBlock(reader, blocks, "test"));
  const runs = new Map<string, TestRun>();
  const providers = new Map<string, TestProvider>();
  for (const block of blocks) {
    if (block.type === "run") {
      const run = decodeRun(reader, block, { parallel });
      const known = runs.get(run.name);
      if (known === undefined) runs.set(run.name, run);
      else {
        const detail = `There is another run block with the name "${run.name}" in this file. The names of run blocks are unique in a file.`;
        reader.fail('Duplicate "run" block names', detail, run.range);
      }
    }
    if (block.type !== "provider" && block.type !== "mock_provider") continue;
    const provider = block.type === "provider" ? real(reader, block) : mocked(reader, block);
    const { name: local, alias, range } = provider.config;
    const key = alias === undefined ? local : `${local}.${alias}`;
    if (providers.has(key)) {
      const detail = `There is another configuration of the provider "${key}" in this file.`;
      reader.fail("Duplicate provider block", detail, range);
    } else providers.set(key, provider);
  }
  return {
    file: {
      name,
      variables: variables === undefined ? new Map() : readAttributes(variables.body, diagnostics),
      providers,
      overrides: decodeOverrides(reader, blocks),
      runs: [...runs.values()],
    },
    diagnostics: sortDiagnostics(diagnostics),
  };
}

/** What a mock file has: `*.tfmock.hcl` or `*.tfmock.json`. */
export type MockFile = Pick<MockProvider, "defaults" | "overrides">;

/** Reads a file of a mock's `source`, JSON where its name ends with `.json`. */
export function loadMockFile(name: string, text: string | Uint8Array): Loaded<MockFile> {
  const diagnostics: Diagnostic[] = [];
  const reader = new StaticReader(diagnostics);
  const body = parseConfigBody({ name, text }, diagnostics);
  const { blocks } = readBody(body, { blocks: MOCK_BLOCKS }, diagnostics);
  const file = {
    defaults: decodeDefaults(reader, blocks),
    overrides: decodeOverrides(reader, blocks),
  };
  return { file, diagnostics: sortDiagnostics(diagnostics) };
}

/** Whether runs may run at the same time, unless they say otherwise themselves. */
function decodeTestBlock(reader: StaticReader, block: ContentBlock | undefined): boolean {
  if (block === undefined) return false;
  const { attributes } = readBody(block.body, { attributes: ["parallel"] }, reader.diagnostics);
  return reader.flag(attributes.get("parallel")) ?? false;
}

function real(reader: StaticReader, block: ContentBlock): TestProvider {
  return { config: decodeProvider(reader, block), mock: undefined };
}

function mocked(reader: StaticReader, block: ContentBlock): TestProvider {
  const { attributes, blocks } = readBody(
    block.body,
    {
      attributes: ["alias", "source", "override_during"],
      literals: true,
      blocks: MOCK_BLOCKS,
    },
    reader.diagnostics,
  );
  const config: ProviderConfig = {
    name: blockName(reader, block),
    alias: reader.text(attributes.get("alias")),
    version: undefined,
    range: block.headerRange,
    body: emptyBody(block),
  };
  const source = attributes.get("source");
  const path = reader.text(source);
  const mock: MockProvider = {
    source:
      source === undefined || path === undefined
        ? undefined
        : { path, range: rangeOf(source.expression) },
    defaults: decodeDefaults(reader, blocks),
    overrides: decodeOverrides(reader, blocks),
    duringPlan: decodeDuring(reader, attributes.get("override_during")) ?? false,
  };
  return { config, mock };
}

/** A mock has no configuration: its block is not for the schema of the provider. */
function emptyBody({ headerRange }: ContentBlock): ProviderConfig["body"] {
  const { source, start, end } = headerRange;
  return { kind: "body", source, start, end, items: [] };
}

/**
 * The test files of a folder from the names in it, in the order in which they run: `*.tftest.hcl`, `*.tofutest.hcl` and the
 * same in JSON. `x.tofutest.hcl` replaces `x.tftest.hcl`.
 */
export function selectTestFiles(names: Iterable<string>): string[] {
  const all = new Set(names);
  return [...all]
    .filter((name) => /\.(?:tf|tofu)test\.(?:hcl|json)$/.test(name))
    .filter((name) => {
      const replacement = name.replace(/\.tftest(?=\.\w+$)/, ".tofutest");
      return replacement === name || !all.has(replacement);
    })
    .toSorted();
}

/** The mock files of a folder from the names in it. */
export function selectMockFiles(names: Iterable<string>): string[] {
  return [...names].filter((name) => /\.tfmock\.(?:hcl|json)$/.test(name)).toSorted();
}
