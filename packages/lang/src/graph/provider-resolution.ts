import type { Value } from "@stackwright/cty";
import type {
  ProviderAddress,
  ProviderRequirement,
  VersionConstraints,
} from "@stackwright/provider-source";
import type { ModuleNode } from "../config/load-tree.ts";
import type {
  ModuleCall,
  ProviderConfig,
  ProviderConfigReference,
  ResourceConfig,
} from "../config/module-config.ts";
import type { Expression } from "../syntax/ast.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source-file.ts";

/** A provider configuration that something uses. */
export interface ResolvedProvider {
  /** Its address as text: `module.net.provider["registry.terraform.io/hashicorp/aws"].west`. */
  readonly address: string;
  /** The module that it is written in; the root module for one that is written nowhere. */
  readonly module: ModuleNode;
  readonly source: ProviderAddress;
  /** The name that the module has for the provider. */
  readonly name: string;
  readonly alias: string | undefined;
  /** Of one instance of a configuration with `for_each`: its key, and what `each.value` is. */
  readonly instance?: { readonly key: string; readonly value: Value };
  /** Of a configuration with `for_each`, which nothing is configured by: its instances, by key. */
  readonly instances?: ReadonlyMap<string, ResolvedProvider>;
  /** Undefined for a provider that is used without being configured. */
  readonly config: ProviderConfig | undefined;
  /** What the modules that use or configure it require of its version. */
  readonly constraints: VersionConstraints;
}

/** What a configuration requires of one provider. */
export interface ModuleProviderRequirement extends ProviderRequirement {
  /** All constraints of all modules. They may contradict each other where configurations are apart. */
  readonly constraints: VersionConstraints;
  /** Who requires it, in the order of the tree. */
  readonly from: readonly RequiringModule[];
}

export interface RequiringModule {
  readonly module: ModuleNode;
  readonly name: string;
  readonly constraints: VersionConstraints;
  /** The entry in required_providers, or what makes the provider necessary without one. */
  readonly range: SourceRange;
  /** There is no entry in required_providers. */
  readonly implied: boolean;
}

/** Which configurations of which providers the modules of a tree use. */
export interface ProviderResolution {
  /** By their addresses: those that are used, and those that are written. Instances of one with `for_each` follow it. */
  readonly configurations: ReadonlyMap<string, ResolvedProvider>;
  /** By the text of the source. */
  readonly requirements: ReadonlyMap<string, ModuleProviderRequirement>;
  readonly diagnostics: readonly Diagnostic[];
  /** Those of them about references to configurations that there are not, which say nothing of what there is to install. */
  readonly referenceDiagnostics: readonly Diagnostic[];
  /** The configuration for a resource of a module; undefined where it names none that exists. */
  forResource(module: ModuleNode, resource: ResourceConfig): ResolvedProvider | undefined;
  /** What chooses among the instances of the configuration for a resource; undefined for one without `for_each`. */
  keyOf(module: ModuleNode, resource: ResourceConfig): ProviderKey | undefined;
  /** What a local name and alias stand for in a module. */
  forReference(
    module: ModuleNode,
    reference: Pick<ProviderConfigReference, "name" | "alias">,
  ): ResolvedProvider | undefined;
  /** The provider that a local name stands for in a module, as in `provider::name::function`. */
  sourceOf(module: ModuleNode, name: string): ProviderAddress;
}

/** The key in a reference to a provider configuration with `for_each`. */
export interface ProviderKey {
  readonly expression: Expression;
  /** The module whose call passes the configuration, of which the expression sees an instance; undefined: it is at the resource. */
  readonly passedTo: ModuleNode | undefined;
}

/** Where a module stands in the tree. */
export interface ModuleLocation {
  readonly module: ModuleNode;
  readonly parent: ModuleLocation | undefined;
  readonly call: ModuleCall | undefined;
}
