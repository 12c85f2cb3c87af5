import { encodeJson, unmarkDeep, type Value } from "@stackwright/cty";
import {
  type EvaluationScope,
  type Expression,
  type LoadedTree,
  type ModuleConfig,
  type ModuleNode,
  type OutputConfig,
  type ProviderConfig,
  parseExpression,
  resolveProviders,
  type TestFile,
  type TestProvider,
  type TestRun,
} from "@stackwright/lang";
import { ProviderAddress } from "@stackwright/provider-source";
import { type Configuration, completeConfiguration } from "../configuration/configuration.ts";
import { providerKey, type Replacements } from "./replacements.ts";

/** A configuration of a provider that a run uses in place of that of the module. */
export interface RunProvider {
  readonly config: ProviderConfig;
  /** As `providerKey` has it. */
  readonly key: string;
  readonly mock: TestProvider["mock"];
}

/** The provider configurations of the file that hold for a run. Those that the module has no use for are left out. */
export function providersOf(
  file: Pick<TestFile, "providers">,
  run: Pick<TestRun, "providers">,
  { root }: LoadedTree,
): RunProvider[] {
  const found: RunProvider[] = [];
  const { requirements } = resolveProviders(root);
  const add = (name: string, alias: string | undefined, from: string): void => {
    const provider = file.providers.get(from);
    if (provider === undefined) return;
    const source = (
      root.config.requiredProviders.get(name)?.source ?? ProviderAddress.implied(name)
    ).toString();
    if (!requirements.has(source)) return;
    const config = { ...provider.config, name, alias };
    found.push({ config, key: providerKey(source, alias), mock: provider.mock });
  };
  if (run.providers === undefined) {
    for (const [key, { config }] of file.providers) add(config.name, config.alias, key);
    return found;
  }
  for (const [inside, { name, alias }] of run.providers) {
    const [local = "", own] = inside.split(".");
    add(local, own, alias === undefined ? name : `${name}.${alias}`);
  }
  return found;
}

/** What is different for a run, and for the end of what it made. */
interface RunChanges {
  readonly providers: readonly RunProvider[];
  readonly replacements: Replacements;
  /** What the arguments of providers in the test file refer to. */
  readonly scope: EvaluationScope;
  /** Whether it is for the end of all objects, which nothing protects. */
  readonly ends: boolean;
}

/** The configuration under test, with the providers of the test file and without the modules that are replaced. */
export function runConfiguration(tree: LoadedTree, changes: RunChanges): Configuration {
  const root = changed(tree.root, changes);
  const providers = new Map(root.config.providers);
  for (const { config } of changes.providers) {
    const key = config.alias === undefined ? config.name : `${config.name}.${config.alias}`;
    providers.set(key, { ...config, scope: changes.scope });
  }
  const config = { ...root.config, providers };
  return completeConfiguration({ ...tree, root: { ...root, config } });
}

function changed(node: ModuleNode, changes: RunChanges): ModuleNode {
  const { path } = node;
  const { replacements } = changes;
  const standIn = (outputs: Value | undefined): ModuleNode => ({
    ...node,
    config: onlyOutputs(node.config, outputs),
    children: new Map(),
  });
  const standIns =
    path.length === 0 || !replacements.namesInstances(path)
      ? undefined
      : {
          standInOf: (address: string): ModuleNode | undefined => {
            const found = replacements.moduleInstance(address);
            return found && standIn(found.outputs);
          },
        };
  const replaced = path.length === 0 ? undefined : replacements.module(path);
  if (replaced !== undefined) return { ...standIn(replaced.outputs), ...standIns };
  const children = new Map(
    [...node.children].map(([name, child]) => [name, changed(child, changes)] as const),
  );
  const config = changes.ends ? unprotected(node.config) : node.config;
  return { ...node, config, children, ...standIns };
}

function unprotected(config: ModuleConfig): ModuleConfig {
  const resources = new Map(
    [...config.resources].map(
      ([address, resource]) =>
        [
          address,
          { ...resource, lifecycle: { ...resource.lifecycle, preventDestroy: false } },
        ] as const,
    ),
  );
  return { ...config, resources };
}

/** A module that has nothing but its variables and outputs with given values. */
function onlyOutputs(config: ModuleConfig, given: Value | undefined): ModuleConfig {
  const values = new Map(given?.entries());
  const outputs = new Map(
    [...config.outputs].map(([name, output]): [string, OutputConfig] => [
      name,
      {
        ...output,
        expression: expressionOf(values.get(name), output.expression),
        preconditions: [],
        dependsOn: [],
      },
    ]),
  );
  return {
    ...config,
    outputs,
    providers: new Map(),
    locals: new Map(),
    modules: new Map(),
    resources: new Map(),
    checks: new Map(),
    moved: [],
    removed: [],
    imports: [],
  };
}

/** An expression for a value; null where there is none. */
function expressionOf(value: Value | undefined, { source, start, end }: Expression): Expression {
  const nothing: Expression = { kind: "null", source, start, end };
  if (value === undefined) return nothing;
  const [plain] = unmarkDeep(value);
  const text = encodeJson(plain).replaceAll("${", "$${").replaceAll("%{", "%%{");
  return parseExpression({ name: source.name, text }).value ?? nothing;
}
