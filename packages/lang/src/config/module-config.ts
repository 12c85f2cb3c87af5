import type { Value } from "@stackwright/cty";
import type { ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import type { EvaluationScope } from "../eval/scope.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import type { TypeConstraint } from "../type/type-constraint.ts";
import type { ConfigBody, ContentAttribute } from "./body-content.ts";
import type { EarlyScope } from "./early-scope.ts";
import type { EncryptionConfig } from "./state-encryption.ts";
import type { TokenTypeLabel } from "./type-label.ts";

/** What one folder of configuration declares. Names and places are checked, nothing is evaluated. */
export interface ModuleConfig {
  readonly requiredVersions: readonly {
    readonly constraint: string;
    readonly range: SourceRange;
  }[];
  /** Where the reference command keeps the state; undefined: in a file beside the configuration. */
  readonly backend?: BackendConfig;
  /** How OpenTofu encrypts that state. */
  readonly encryption?: EncryptionConfig;
  /** By local name. */
  readonly requiredProviders: ReadonlyMap<string, RequiredProvider>;
  /** By `name` or `name.alias`. */
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly variables: ReadonlyMap<string, VariableConfig>;
  readonly locals: ReadonlyMap<string, LocalConfig>;
  readonly outputs: ReadonlyMap<string, OutputConfig>;
  readonly modules: ReadonlyMap<string, ModuleCall>;
  /** Resources, data sources and ephemeral resources by address, such as `data.x.y`. */
  readonly resources: ReadonlyMap<string, ResourceConfig>;
  readonly moved: readonly MovedConfig[];
  readonly removed: readonly RemovedConfig[];
  readonly imports: readonly ImportConfig[];
  readonly checks: ReadonlyMap<string, CheckConfig>;
}

/** What all declarations have. */
interface Declared {
  /** The header of the block, or the name of the argument. */
  readonly range: SourceRange;
}

/** A `backend` or `cloud` block. */
export interface BackendConfig extends Declared {
  /** Such as `s3`; `cloud` for a block of that name. */
  readonly type: string;
  /** The arguments that say where the state is, as far as they are constants: `bucket`, `key`, `path` and such. */
  readonly place: ReadonlyMap<string, string>;
  /** The whole body, credentials included; `backendArguments` reads it. */
  readonly body: ConfigBody;
  /** What its arguments may refer to: variables and locals, which are evaluated early. */
  readonly early?: EarlyScope;
}

export interface RequiredProvider extends Declared {
  readonly name: string;
  readonly source: ProviderAddress | undefined;
  readonly version: VersionConstraints | undefined;
  /** References such as `aws.west` to configurations that the caller of the module must pass. */
  readonly configurationAliases: readonly ScopeTraversal[];
}

export interface ProviderConfig extends Declared {
  readonly name: string;
  readonly alias: string | undefined;
  /** Deprecated there, but it counts. */
  readonly version: VersionConstraints | undefined;
  /** The whole body; what the provider's schema does not know is `alias`, `version` and `for_each`. */
  readonly body: ConfigBody;
  /** The keys and values that it has instances for (OpenTofu); it needs an alias then. */
  readonly forEach?: Expression;
  /** `each.value` by the key, evaluated early; undefined as long as that is not done, and after an error. */
  readonly instances?: ReadonlyMap<string, Value>;
  /** What its arguments refer to, where that is not the module: a configuration of a test file. */
  readonly scope?: EvaluationScope;
}

export interface VariableConfig extends Declared {
  readonly name: string;
  readonly constraint: TypeConstraint;
  /** Converted to the type, defaults of optional attributes applied. */
  readonly default: Value | undefined;
  readonly description: string | undefined;
  readonly sensitive: boolean;
  readonly ephemeral: boolean;
  readonly nullable: boolean;
  /** Whether text from a command line or environment is the value, and not an expression of it. */
  readonly textIsLiteral: boolean;
  readonly deprecated: string | undefined;
  readonly validations: readonly ConditionRule[];
}

/** A condition with the message for when it does not hold. */
export interface ConditionRule extends Declared {
  readonly condition: Expression;
  readonly errorMessage: Expression;
}

export interface LocalConfig extends Declared {
  readonly name: string;
  readonly expression: Expression;
}

export interface OutputConfig extends Declared {
  readonly name: string;
  readonly expression: Expression;
  readonly description: string | undefined;
  readonly sensitive: boolean;
  readonly ephemeral: boolean;
  readonly deprecated: string | undefined;
  readonly dependsOn: readonly ScopeTraversal[];
  readonly preconditions: readonly ConditionRule[];
}

/** A reference to a provider configuration of the module. */
export interface ProviderConfigReference extends Declared {
  readonly name: string;
  readonly alias: string | undefined;
  /** Chooses one of the instances of a configuration with `for_each`. */
  readonly key?: Expression;
}

/** How often something exists, and what it waits for. */
export interface Repetition {
  readonly count: Expression | undefined;
  readonly forEach: Expression | undefined;
  /** Whether the one instance exists (OpenTofu); excludes the two above. */
  readonly enabled?: Expression | undefined;
  readonly dependsOn: readonly ScopeTraversal[];
}

export interface ModuleCall extends Declared, Repetition {
  readonly name: string;
  /** Empty as long as an expression of it is not evaluated. */
  readonly source: string;
  readonly version: VersionConstraints | undefined;
  /** Arguments that are expressions and not constants; they are evaluated before the module is loaded. */
  readonly early?: { readonly source?: ContentAttribute; readonly version?: ContentAttribute };
  /** Configurations passed down, by the child's name or `name.alias`. Undefined inherits. */
  readonly providers: ReadonlyMap<string, ProviderConfigReference> | undefined;
  /** The inputs, with the arguments above among them. */
  readonly body: ConfigBody;
}

export type ResourceMode = "managed" | "data" | "ephemeral";

export interface ResourceConfig extends Declared, Repetition {
  readonly mode: ResourceMode;
  /** Name of the type, also where its token was written. */
  readonly type: string;
  /** The token that was written for the type. Whether the type has that name is for its provider's schema. */
  readonly token: TokenTypeLabel | undefined;
  readonly name: string;
  readonly provider: ProviderConfigReference | undefined;
  readonly lifecycle: LifecycleConfig;
  /** In the order in which they run. */
  readonly provisioners: readonly ProvisionerConfig[];
  /** What the provisioners connect with, as far as they have no arguments of their own. */
  readonly connection: ConfigBody | undefined;
  /** The whole body, with the arguments above among what the provider's schema knows. */
  readonly body: ConfigBody;
}

/** A command or a copy that runs after an object is created, or before it is destroyed. */
export interface ProvisionerConfig extends Declared {
  /** Such as `local-exec`. */
  readonly type: string;
  readonly when: "create" | "destroy";
  readonly onFailure: "fail" | "continue";
  readonly connection: ConfigBody | undefined;
  /** The whole body, with `when`, `on_failure` and `connection`. */
  readonly body: ConfigBody;
}

export interface LifecycleConfig {
  readonly createBeforeDestroy: boolean | undefined;
  readonly preventDestroy: boolean;
  /** Whether the real object goes with its block; otherwise it is only forgotten (OpenTofu). */
  readonly destroy: boolean;
  /** Paths into the resource, or all of it. */
  readonly ignoreChanges: "all" | readonly ScopeTraversal[];
  readonly replaceTriggeredBy: readonly Expression[];
  readonly preconditions: readonly ConditionRule[];
  readonly postconditions: readonly ConditionRule[];
}

export interface MovedConfig extends Declared {
  readonly from: ScopeTraversal;
  readonly to: ScopeTraversal;
}

export interface RemovedConfig extends Declared {
  readonly from: ScopeTraversal;
  readonly destroy: boolean;
  /** Those that run before the objects are destroyed. */
  readonly provisioners: readonly ProvisionerConfig[];
  readonly connection: ConfigBody | undefined;
}

export interface ImportConfig extends Declared {
  /** A reference whose instance key may be an expression. */
  readonly to: Expression;
  readonly id: Expression | undefined;
  readonly identity: Expression | undefined;
  readonly provider: ProviderConfigReference | undefined;
  readonly forEach: Expression | undefined;
}

export interface CheckConfig extends Declared {
  readonly name: string;
  /** The data source that exists for this check only. */
  readonly data: ResourceConfig | undefined;
  readonly assertions: readonly ConditionRule[];
}
