import type { ContentAttribute } from "../config/body-content.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type {
  CheckConfig,
  LocalConfig,
  ModuleCall,
  OutputConfig,
  ResourceConfig,
  VariableConfig,
} from "../config/module-config.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import type { ResolvedProvider } from "./provider-resolution.ts";

/** Why one thing waits for another. */
export interface EdgeReason {
  /**
   * - `reference`: an expression refers to it.
   * - `depends_on`: it is listed there.
   * - `provider`: it is the configuration of the provider.
   * - `import`: an import block, which refers to it, is about the waiting resource.
   * - `module`: it says how often the module around the waiting thing exists, or is a part of what
   *   a node for several things stands for.
   */
  readonly kind: "reference" | "depends_on" | "provider" | "import" | "module";
  /** What says so, where something in the source does. */
  readonly range: SourceRange | undefined;
}

interface NodeBase {
  /** Unique in the graph: the address without keys, such as `module.net.aws_vpc.main`. */
  readonly id: string;
  /** The module that it is declared in. */
  readonly module: ModuleNode;
  readonly range: SourceRange | undefined;
  /** What must have been dealt with before it, with the first reason found. */
  readonly dependencies: ReadonlyMap<GraphNode, EdgeReason>;
  /** What waits for it. */
  readonly dependents: ReadonlySet<GraphNode>;
}

/** A node of the graph: something declared, before it is known how often it exists. */
export type GraphNode = NodeBase &
  (
    | {
        readonly kind: "variable";
        readonly variable: VariableConfig;
        /** Given by the call of the module, as an expression of the calling module. */
        readonly argument: ContentAttribute | undefined;
      }
    /** The conditions of a variable. They may refer to what refers to the variable. */
    | { readonly kind: "validation"; readonly variable: VariableConfig }
    | { readonly kind: "local"; readonly local: LocalConfig }
    | { readonly kind: "output"; readonly output: OutputConfig }
    | {
        readonly kind: "resource";
        readonly resource: ResourceConfig;
        readonly provider: ResolvedProvider | undefined;
        /** Set for a data source that belongs to a check. */
        readonly check: CheckConfig | undefined;
      }
    | { readonly kind: "provider"; readonly provider: ResolvedProvider }
    /** How often a called module exists. Everything in the module waits for it. */
    | { readonly kind: "module"; readonly call: ModuleCall; readonly child: ModuleNode }
    /** A called module as a value. It waits for everything in the module, as in the reference. */
    | { readonly kind: "module-outputs"; readonly child: ModuleNode }
    /** Everything in a called module, for `depends_on`. */
    | { readonly kind: "module-end"; readonly child: ModuleNode }
    | { readonly kind: "check"; readonly check: CheckConfig }
  );
