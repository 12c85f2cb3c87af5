import { formatAddress } from "../address/address.ts";
import { traversalAddress } from "../address/parse-address.ts";
import {
  type ContentAttribute,
  type ContentBlock,
  readAttributes,
  readBody,
} from "../config/body-content.ts";
import { decodeModuleCall, decodeProviders } from "../config/decode-resource.ts";
import { decodeConditions } from "../config/decode-values.ts";
import type { ModuleCall } from "../config/module-config.ts";
import { parseModuleSource } from "../config/module-source.ts";
import { rangeOf, type StaticReader } from "../config/static-reader.ts";
import type { ScopeTraversal } from "../syntax/ast.ts";
import { isIdentifier } from "../syntax/identifier.ts";
import { decodeOverrides, OVERRIDE_BLOCKS } from "./decode-override.ts";
import type { ExpectedFailure, TestPlanOptions, TestRun } from "./test-file.ts";

/** Reads a `run` block. */
export function decodeRun(
  reader: StaticReader,
  block: ContentBlock,
  defaults: { readonly parallel: boolean },
): TestRun {
  const label = block.labels[0];
  const name = label?.value ?? "";
  if (!isIdentifier(name)) {
    const detail = `"${name}" is not a name: names begin with a letter or underscore and hold letters, digits, underscores and dashes.`;
    reader.fail("Invalid run block name", detail, label?.range ?? block.headerRange);
  }
  const { attributes, blocks } = readBody(
    block.body,
    {
      attributes: ["command", "providers", "expect_failures", "state_key", "parallel"],
      literals: ["command", "providers", "expect_failures", "state_key", "parallel"],
      blocks: {
        plan_options: [],
        assert: [],
        variables: [],
        module: [],
        ...OVERRIDE_BLOCKS,
      },
    },
    reader.diagnostics,
  );
  const only = (type: string): ContentBlock | undefined => onlyBlock(reader, blocks, type);
  const variables = only("variables");
  const module = only("module");
  return {
    name,
    command: decodeCommand(reader, attributes.get("command")),
    options: decodePlanOptions(reader, only("plan_options")),
    variables:
      variables === undefined ? new Map() : readAttributes(variables.body, reader.diagnostics),
    module: module && decodeModule(reader, name, module),
    providers: decodeProviders(reader, { attributes, blocks }),
    assertions: decodeConditions(
      reader,
      blocks.filter(({ type }) => type === "assert"),
    ),
    expectFailures: reader.references(attributes.get("expect_failures")).flatMap((traversal) => {
      const found = expectedFailure(reader, traversal);
      return found === undefined ? [] : [found];
    }),
    overrides: decodeOverrides(reader, blocks),
    stateKey: reader.text(attributes.get("state_key")),
    parallel: reader.flag(attributes.get("parallel")) ?? defaults.parallel,
    range: block.headerRange,
  };
}

/** The block of a type that occurs at most once. */
export function onlyBlock(
  reader: StaticReader,
  blocks: readonly ContentBlock[],
  type: string,
): ContentBlock | undefined {
  const [first, second] = blocks.filter((block) => block.type === type);
  if (second !== undefined) {
    const detail = `There is at most one block of the type "${type}" here.`;
    reader.fail(`Multiple "${type}" blocks`, detail, second.headerRange);
  }
  return first;
}

function decodeCommand(
  reader: StaticReader,
  attribute: ContentAttribute | undefined,
): TestRun["command"] {
  if (attribute === undefined || reader.isWord(attribute, "apply")) return "apply";
  if (!reader.isWord(attribute, "plan")) {
    const detail = 'The argument "command" is plan or apply, without quotes.';
    reader.fail('Invalid "command" keyword', detail, rangeOf(attribute.expression));
  }
  return "plan";
}

function decodePlanOptions(reader: StaticReader, block: ContentBlock | undefined): TestPlanOptions {
  if (block === undefined) return { mode: "normal", refresh: true, replace: [], target: [] };
  const names = ["mode", "refresh", "replace", "target"];
  const { attributes } = readBody(
    block.body,
    { attributes: names, literals: true },
    reader.diagnostics,
  );
  const mode = attributes.get("mode");
  const onlyRefresh = mode !== undefined && reader.isWord(mode, "refresh-only");
  if (mode !== undefined && !onlyRefresh && !reader.isWord(mode, "normal")) {
    const detail = 'The argument "mode" is normal or refresh-only, without quotes.';
    reader.fail('Invalid "mode" keyword', detail, rangeOf(mode.expression));
  }
  const refresh = reader.flag(attributes.get("refresh")) ?? true;
  if (onlyRefresh && !refresh) {
    const detail = 'With the mode refresh-only the argument "refresh" cannot be false.';
    reader.fail("Incompatible plan options", detail, block.headerRange);
  }
  const addresses = (attribute: ContentAttribute | undefined): string[] =>
    reader.references(attribute).flatMap((traversal) => {
      const address = traversalAddress(traversal, reader.diagnostics);
      return address === undefined ? [] : [formatAddress(address)];
    });
  return {
    mode: onlyRefresh ? "refresh-only" : "normal",
    refresh,
    replace: addresses(attributes.get("replace")),
    target: addresses(attributes.get("target")),
  };
}

function decodeModule(
  reader: StaticReader,
  name: string,
  block: ContentBlock,
): ModuleCall | undefined {
  const { attributes } = readBody(
    block.body,
    { attributes: ["source", "version"], literals: true },
    reader.diagnostics,
  );
  const source = attributes.get("source");
  // As in a call; the label of the block is the name of the run.
  const label = { value: name, range: block.headerRange };
  const call = decodeModuleCall(reader, { ...block, labels: [label] });
  if (call === undefined || source === undefined) return undefined;
  try {
    if (parseModuleSource(call.source).kind === "remote") {
      const detail =
        "The module of a run is a local folder, which begins with ./ or ../, or a module of a registry.";
      reader.fail("Invalid module source address", detail, rangeOf(source.expression));
    }
  } catch {
    // What is wrong with the source is reported where the module is loaded.
  }
  return call;
}

function expectedFailure(
  reader: StaticReader,
  traversal: ScopeTraversal,
): ExpectedFailure | undefined {
  const range = rangeOf(traversal);
  const { root, steps } = traversal;
  if (root === "var" || root === "output" || root === "check") {
    const [step, ...more] = steps;
    if (step?.kind === "attribute-step" && more.length === 0)
      return { address: `${root}.${step.name}`, range };
  } else if (root !== "module") {
    const address = traversalAddress(traversal, []);
    if (address?.kind === "resource" && address.mode !== "ephemeral")
      return { address: formatAddress(address), range };
  }
  const detail =
    "Only what has conditions in the module under test can be expected to fail: variables, outputs, checks, resources and data sources.";
  reader.fail("Invalid `expect_failures` reference", detail, range);
  return undefined;
}
