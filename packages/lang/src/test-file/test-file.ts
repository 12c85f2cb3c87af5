import type { Address } from "../address/address.ts";
import type { ContentAttribute } from "../config/body-content.ts";
import type {
  ConditionRule,
  ModuleCall,
  ProviderConfig,
  ProviderConfigReference,
} from "../config/module-config.ts";
import type { Expression } from "../syntax/ast.ts";
import type { SourceRange } from "../syntax/source-file.ts";

/** A test file: `*.tftest.hcl`, `*.tofutest.hcl` or the same in JSON. Names and places are checked, nothing is evaluated. */
export interface TestFile {
  /** Its path from the root module. */
  readonly name: string;
  /** Values of variables for all runs, still expressions. */
  readonly variables: ReadonlyMap<string, ContentAttribute>;
  /** Configurations that replace those of the module under test, by `name` or `name.alias`. */
  readonly providers: ReadonlyMap<string, TestProvider>;
  readonly overrides: readonly TestOverride[];
  /** In the order in which they are written. */
  readonly runs: readonly TestRun[];
}

/** A provider of a test file: a `provider` block, or a `mock_provider` block. */
export interface TestProvider {
  /** The configuration; of a mock without arguments. */
  readonly config: ProviderConfig;
  /** Undefined for a provider that is called. */
  readonly mock: MockProvider | undefined;
}

/** What a mock answers with. */
export interface MockProvider {
  /** The folder of mock files, as it is written. */
  readonly source: { readonly path: string; readonly range: SourceRange } | undefined;
  readonly defaults: readonly MockDefaults[];
  readonly overrides: readonly TestOverride[];
  /** Whether `override_during = plan` holds for all that the mock answers. */
  readonly duringPlan: boolean;
}

/** Values for the computed attributes of all objects of one type. */
export interface MockDefaults {
  readonly mode: "managed" | "data";
  readonly type: string;
  /** An object of values by the name of the attribute. */
  readonly defaults: Expression | undefined;
  /** Undefined where it is as for the provider. */
  readonly duringPlan: boolean | undefined;
  readonly range: SourceRange;
}

/** What one object or module is replaced by. */
export interface TestOverride {
  readonly kind: "resource" | "data" | "module";
  readonly target: Address;
  /** The object of values, or of outputs of a module. */
  readonly values: Expression | undefined;
  /** Undefined where it is as for the provider. */
  readonly duringPlan: boolean | undefined;
  readonly range: SourceRange;
}

/** Something whose condition has to fail. */
export interface ExpectedFailure {
  /** Such as `var.x`, `output.x`, `check.x`, `aws_vpc.main`, `aws_vpc.main[0]`. */
  readonly address: string;
  readonly range: SourceRange;
}

/** The plan that a run makes. */
export interface TestPlanOptions {
  readonly mode: "normal" | "refresh-only";
  readonly refresh: boolean;
  readonly replace: readonly string[];
  readonly target: readonly string[];
}

/** A `run` block. */
export interface TestRun {
  readonly name: string;
  readonly command: "plan" | "apply";
  readonly options: TestPlanOptions;
  readonly variables: ReadonlyMap<string, ContentAttribute>;
  /** Another module than the root module. */
  readonly module: ModuleCall | undefined;
  /** Configurations by the name in the module. Undefined: all of the file. */
  readonly providers: ReadonlyMap<string, ProviderConfigReference> | undefined;
  readonly assertions: readonly ConditionRule[];
  readonly expectFailures: readonly ExpectedFailure[];
  readonly overrides: readonly TestOverride[];
  /** Runs with the same key share a state. Undefined: one for each module. */
  readonly stateKey: string | undefined;
  /** Whether it may run at the same time as others. */
  readonly parallel: boolean;
  readonly range: SourceRange;
}
