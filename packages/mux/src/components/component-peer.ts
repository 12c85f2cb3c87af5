import type { PropertyMap } from "@stackwright/proto/property";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { CallContext } from "../call-context.ts";
import type { Capabilities } from "../core/combine-configure.ts";
import type { ResourceProvider } from "../resource-provider.ts";

/** The configured provider that has a component and all that it makes. */
interface ComponentPeer {
  readonly provider: ResourceProvider;
  readonly capabilities: Capabilities;
  /** Properties as the provider takes them. */
  encode(properties: PropertyMap): EncodedStruct;
}

/** One call for a component. */
export interface ComponentCall {
  readonly peer: ComponentPeer;
  readonly context: CallContext;
  /** Nothing is to be changed: unknown values stand for what is not there yet. */
  readonly dryRun: boolean;
  /** Names that providers make up follow from it. */
  readonly seed: string;
}
