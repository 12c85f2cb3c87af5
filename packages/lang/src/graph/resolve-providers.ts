import { append } from "@stackwright/base/append";
import {
  ProviderAddress,
  type ProviderRequirement,
  ProviderSourceError,
  VersionConstraints,
} from "@stackwright/provider-source";
import { formatProviderConfig } from "../address/provider-config-address.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type {
  ProviderConfig,
  ProviderConfigReference,
  ResourceConfig,
} from "../config/module-config.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import { checkPassedProviders } from "./check-passed-providers.ts";
import { checkProviderKey, checkSameKeys } from "./check-provider-key.ts";
import { moduleResources, providerReference } from "./module-resources.ts";
import type {
  ModuleLocation,
  ModuleProviderRequirement,
  ProviderKey,
  ProviderResolution,
  ResolvedProvider,
} from "./provider-resolution.ts";

/** How providers are resolved. */
export interface ProviderOptions {
  /**
   * The source of a provider that a module uses without declaring it.
   * @default `hashicorp/<name>` of the default registry, `terraform` built in
   */
  readonly impliedSource?: (localName: string) => ProviderAddress;
  /** What a source stands for, where that depends on who reads it. @default itself */
  readonly meantSource?: (source: ProviderAddress) => ProviderAddress;
}

/**
 * Finds the provider configuration for everything in a tree of modules.
 *
 * A module sees the configurations that it has itself, those that its call passes to it, and of all
 * others the ones without alias of the modules around it, regardless of the local names there. What
 * is configured nowhere has an empty configuration in the root module.
 */
export function resolveProviders(
  root: ModuleNode,
  options: ProviderOptions = {},
): ProviderResolution {
  const resolver = new Resolver(options);
  resolver.enter(root, undefined);
  resolver.finish();
  return resolver;
}

interface MutableProvider extends ResolvedProvider {
  constraints: VersionConstraints;
  instances?: Map<string, MutableProvider>;
}

/** A configuration, and what chooses an instance of it. */
interface Choice {
  readonly provider: MutableProvider;
  readonly key: ProviderKey | undefined;
}

class Resolver implements ProviderResolution {
  readonly configurations = new Map<string, MutableProvider>();
  readonly requirements = new Map<string, ModuleProviderRequirement>();
  readonly diagnostics: Diagnostic[] = [];
  readonly referenceDiagnostics: Diagnostic[] = [];
  readonly #options: ProviderOptions;
  readonly #places = new Map<ModuleNode, ModuleLocation>();
  /** Results by module, source and alias; undefined where there is none. */
  readonly #resolved = new Map<ModuleNode, Map<string, Choice | undefined>>();
  readonly #impliedSources = new Map<string, ProviderAddress>();
  /** What the sources stand for that modules have written. */
  readonly #meantSources = new Map<ProviderAddress, ProviderAddress>();
  /** Names that no provider can have, with the reason. */
  readonly #impossible = new Map<string, string>();
  readonly #warned = new Map<ModuleNode, Set<string>>();

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /** Visits a module and those below it, outer ones first. */
  enter(module: ModuleNode, above: Pick<ModuleLocation, "parent" | "call"> | undefined): void {
    const place: ModuleLocation = { module, parent: above?.parent, call: above?.call };
    this.#places.set(module, place);
    checkPassedProviders(place, this, this.diagnostics, this.referenceDiagnostics);
    this.#declared(module);
    this.#used(module);
    for (const [name, child] of module.children) {
      this.enter(child, { parent: place, call: module.config.modules.get(name) });
    }
  }

  #fail(summary: string, detail: string, subject: SourceRange): void {
    this.diagnostics.push({ severity: "error", code: "LANG_CONFIG", summary, detail, subject });
  }

  sourceOf({ config }: ModuleNode, name: string): ProviderAddress {
    return this.#meant(name, config.requiredProviders.get(name)?.source);
  }

  #meant(name: string, written: ProviderAddress | undefined): ProviderAddress {
    if (written === undefined) return this.impliedSource(name);
    // Asked for each instance of each resource.
    const known = this.#meantSources.get(written);
    if (known !== undefined) return known;
    const meant = this.#options.meantSource?.(written) ?? written;
    this.#meantSources.set(written, meant);
    return meant;
  }

  impliedSource(name: string): ProviderAddress {
    const known = this.#impliedSources.get(name);
    if (known !== undefined) return known;
    const { impliedSource: imply = ProviderAddress.implied, meantSource } = this.#options;
    let source: ProviderAddress;
    try {
      const implied = imply(name);
      source = meantSource?.(implied) ?? implied;
    } catch (error) {
      if (!(error instanceof ProviderSourceError)) throw error;
      // Stands for a name that no provider can have, which is reported where it is used.
      source = ProviderAddress.implied("invalid");
      this.#impossible.set(name, error.message);
    }
    this.#impliedSources.set(name, source);
    return source;
  }

  forResource(module: ModuleNode, resource: ResourceConfig): ResolvedProvider | undefined {
    return this.forReference(module, providerReference(module.config, resource));
  }

  keyOf(module: ModuleNode, resource: ResourceConfig): ProviderKey | undefined {
    const place = this.#places.get(module);
    if (place === undefined) return undefined;
    const { name, alias, key } = providerReference(module.config, resource);
    if (key !== undefined) return { expression: key, passedTo: undefined };
    return this.#choose(place, this.sourceOf(module, name), alias)?.key;
  }

  forReference(
    module: ModuleNode,
    { name, alias }: Pick<ProviderConfigReference, "name" | "alias">,
  ): ResolvedProvider | undefined {
    const place = this.#places.get(module);
    return place === undefined
      ? undefined
      : this.#resolve(place, this.sourceOf(module, name), alias);
  }

  #resolve(
    place: ModuleLocation,
    source: ProviderAddress,
    alias: string | undefined,
  ): MutableProvider | undefined {
    return this.#choose(place, source, alias)?.provider;
  }

  #choose(
    place: ModuleLocation,
    source: ProviderAddress,
    alias: string | undefined,
  ): Choice | undefined {
    const { module } = place;
    const known = this.#resolved.get(module) ?? new Map<string, Choice | undefined>();
    this.#resolved.set(module, known);
    const key = `${source.toString()} ${alias ?? ""}`;
    if (!known.has(key)) known.set(key, this.#find(place, source, alias));
    return known.get(key);
  }

  #find(
    { module, parent, call }: ModuleLocation,
    source: ProviderAddress,
    alias: string | undefined,
  ): Choice | undefined {
    const matches = (name: string, own: string | undefined): boolean =>
      own === alias && this.sourceOf(module, name).equals(source);
    if (parent !== undefined) {
      for (const [inside, reference] of call?.providers ?? []) {
        const [name = "", own] = inside.split(".");
        if (!matches(name, own)) continue;
        const outside = this.sourceOf(parent.module, reference.name);
        const choice = this.#choose(parent, outside, reference.alias);
        if (choice === undefined || reference.key === undefined) return choice;
        return { ...choice, key: { expression: reference.key, passedTo: module } };
      }
    }
    for (const config of module.config.providers.values()) {
      if (matches(config.name, config.alias))
        return { provider: this.#configuration(module, source, config), key: undefined };
    }
    if (alias !== undefined) return undefined;
    if (parent !== undefined) return this.#choose(parent, source, undefined);
    return { provider: this.#configuration(module, source, undefined), key: undefined };
  }

  #configuration(
    module: ModuleNode,
    source: ProviderAddress,
    config: ProviderConfig | undefined,
  ): MutableProvider {
    const alias = config?.alias;
    const address = formatProviderConfig({ module: module.path, source, alias });
    const known = this.configurations.get(address);
    if (known !== undefined) return known;
    const name = config?.name ?? this.#localName(module, source);
    const constraints = VersionConstraints.any;
    const created: MutableProvider = {
      address,
      module,
      source,
      name,
      alias,
      config,
      constraints,
    };
    this.configurations.set(address, created);
    if (config?.forEach === undefined) return created;
    created.instances = new Map();
    for (const [key, value] of config.instances ?? []) {
      const own = formatProviderConfig({ module: module.path, source, alias, key });
      const { instances: _, ...shared } = created;
      const instance: MutableProvider = { ...shared, address: own, instance: { key, value } };
      created.instances.set(key, instance);
      this.configurations.set(own, instance);
    }
    return created;
  }

  #localName({ config }: ModuleNode, source: ProviderAddress): string {
    for (const { name, source: own } of config.requiredProviders.values()) {
      if (own !== undefined && this.#meant(name, own).equals(source)) return name;
    }
    return source.type;
  }

  /** The entries of required_providers, and the configurations of the module. */
  #declared(module: ModuleNode): void {
    for (const { name, version, range } of module.config.requiredProviders.values()) {
      this.#require(module, name, version, range, false);
    }
    for (const config of module.config.providers.values()) {
      const source = this.sourceOf(module, config.name);
      if (!module.config.requiredProviders.has(config.name) || config.version !== undefined) {
        this.#require(module, config.name, config.version, config.range, true);
      }
      const place = this.#places.get(module);
      if (place !== undefined) this.#constrain(this.#resolve(place, source, config.alias), module);
    }
  }

  #require(
    module: ModuleNode,
    name: string,
    version: VersionConstraints | undefined,
    range: SourceRange,
    implied: boolean,
  ): void {
    const address = this.sourceOf(module, name);
    const key = address.toString();
    const known = this.requirements.get(key);
    const constraints = version ?? VersionConstraints.any;
    const from = [...(known?.from ?? []), { module, name, constraints, range, implied }];
    this.requirements.set(key, {
      address,
      constraints: VersionConstraints.intersection(
        constraints,
        ...(known ? [known.constraints] : []),
      ),
      from,
    });
  }

  /** Adds what a module requires of a provider to a configuration that it uses. */
  #constrain(provider: MutableProvider | undefined, { config }: ModuleNode): void {
    if (provider === undefined) return;
    const wanted = [...config.requiredProviders.values()].flatMap(({ name, source, version }) =>
      version !== undefined && this.#meant(name, source).equals(provider.source) ? [version] : [],
    );
    if (provider.config?.version !== undefined) wanted.push(provider.config.version);
    if (wanted.length === 0) return;
    const narrowed = VersionConstraints.intersection(provider.constraints, ...wanted);
    for (const one of [provider, ...(provider.instances?.values() ?? [])])
      one.constraints = narrowed;
  }

  /** What the resources and imports of a module use. */
  #used(module: ModuleNode): void {
    const place = this.#places.get(module);
    if (place === undefined) return;
    const constrained = new Set<ResolvedProvider>();
    for (const resource of moduleResources(module.config)) {
      const { provider, forEach, mode } = resource;
      if (provider === undefined) continue;
      append(this.diagnostics, checkProviderKey(module.config, provider, "resource"));
      if (mode !== "managed") continue;
      append(this.diagnostics, checkSameKeys(module.config, provider, "resource", forEach));
    }
    for (const reference of usedReferences(module)) {
      const { name, alias, range } = reference;
      this.#checkDeclared(module, name, range);
      const provider = this.#resolve(place, this.sourceOf(module, name), alias);
      if (provider === undefined) {
        this.#missing(place, reference);
      } else if (!constrained.has(provider)) {
        constrained.add(provider);
        this.#constrain(provider, module);
      }
    }
  }

  #checkDeclared(module: ModuleNode, name: string, range: SourceRange): void {
    if (module.config.requiredProviders.has(name)) return;
    const warned = this.#warned.get(module) ?? new Set<string>();
    this.#warned.set(module, warned);
    if (warned.has(name)) return;
    warned.add(name);
    const source = this.impliedSource(name);
    const impossible = this.#impossible.get(name);
    if (impossible !== undefined) {
      this.#fail("Invalid provider name", `No provider is called "${name}": ${impossible}`, range);
      return;
    }
    const configured = [...module.config.providers.values()].some((own) => own.name === name);
    if (!configured) this.#require(module, name, undefined, range, true);
    if (source.kind === "builtin") return;
    this.diagnostics.push({
      severity: "warning",
      code: "LANG_CONFIG",
      summary: "Provider is not declared",
      detail: `The provider "${name}" is not in required_providers of this module. It is taken for ${source.toDisplay()}; declare it to say which one is meant.`,
      subject: range,
    });
  }

  #missing(
    { module: { config }, call }: ModuleLocation,
    { name, alias, range }: ProviderConfigReference,
  ): void {
    const known = [
      ...config.providers.keys(),
      ...[...config.requiredProviders.values()].flatMap(({ configurationAliases }) =>
        configurationAliases.map(({ root, steps }) =>
          [root, ...steps.map((step) => (step.kind === "attribute-step" ? step.name : ""))].join(
            ".",
          ),
        ),
      ),
    ];
    const text = alias === undefined ? name : `${name}.${alias}`;
    // What a module needs and is not given, or what does not exist outside, is reported at the call.
    if (known.includes(text) || call?.providers?.has(text) === true) return;
    const detail = `There is no provider configuration "${text}" in this module.${didYouMean(text, known)} Configurations with an alias are not inherited: they are passed with the argument "providers" of a call.`;
    this.referenceDiagnostics.push({
      severity: "error",
      code: "LANG_CONFIG",
      summary: "Provider configuration not present",
      detail,
      subject: range,
    });
  }

  /** Problems that are only known after all modules were visited. */
  finish(): void {
    append(this.diagnostics, this.referenceDiagnostics);
    const checked = new Set<string>();
    for (const provider of this.configurations.values()) {
      checked.add(provider.source.toString());
      this.#checkVersions({ address: provider.source, constraints: provider.constraints });
    }
    for (const [key, requirement] of this.requirements) {
      if (!checked.has(key)) this.#checkVersions(requirement);
    }
  }

  #checkVersions({ address, constraints }: ProviderRequirement): void {
    const from = this.requirements.get(address.toString())?.from ?? [];
    const written = from.filter((module) => module.constraints.items.length > 0);
    const subject = (written.at(-1) ?? from.at(-1))?.range;
    if (subject === undefined) return;
    const contradiction = constraints.contradiction();
    if (contradiction !== undefined) {
      const detail = `No version of ${address.toDisplay()} can satisfy ${contradiction.join(" and ")}. Modules that use the same configuration must agree on a version.`;
      this.#fail("Conflicting provider version constraints", detail, subject);
    } else if (address.kind === "private" && constraints.exactVersion === undefined) {
      const detail = `The provider ${address.toDisplay()} is a private provider, whose version must be given exactly, such as version = "1.0.0".`;
      this.#fail("Exact provider version required", detail, subject);
    }
  }
}

/** All references to providers in a module, written or implied. */
function* usedReferences(module: ModuleNode): Generator<ProviderConfigReference> {
  for (const resource of moduleResources(module.config))
    yield providerReference(module.config, resource);
  for (const { provider } of module.config.imports) if (provider !== undefined) yield provider;
}
