import * as t5 from "@stackwright/proto/tfplugin5";
import * as t6 from "@stackwright/proto/tfplugin6";
import { SCHEMA_5 } from "./schema-translation.ts";

/** How one message is written and read. */
interface Codec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** One method of the protocol: its name there, and its messages in the shape of protocol 6. */
export interface PluginMethod<Request, Response> {
  readonly name: string;
  readonly request: Codec<Request>;
  readonly response: Codec<Response>;
}

function method<Request, Response>(
  name: string,
  request: Codec<Request>,
  response: Codec<Response>,
): PluginMethod<Request, Response> {
  return { name, request, response };
}

/** The unary methods that both protocols have, under the names of protocol 6. */
export interface PluginMethods {
  readonly getMetadata: PluginMethod<t6.GetMetadata_Request, t6.GetMetadata_Response>;
  readonly getProviderSchema: PluginMethod<
    t6.GetProviderSchema_Request,
    t6.GetProviderSchema_Response
  >;
  readonly getResourceIdentitySchemas: PluginMethod<
    t6.GetResourceIdentitySchemas_Request,
    t6.GetResourceIdentitySchemas_Response
  >;
  readonly getFunctions: PluginMethod<t6.GetFunctions_Request, t6.GetFunctions_Response>;
  readonly validateProvider: PluginMethod<
    t6.ValidateProviderConfig_Request,
    t6.ValidateProviderConfig_Response
  >;
  readonly validateResource: PluginMethod<
    t6.ValidateResourceConfig_Request,
    t6.ValidateResourceConfig_Response
  >;
  readonly validateDataSource: PluginMethod<
    t6.ValidateDataResourceConfig_Request,
    t6.ValidateDataResourceConfig_Response
  >;
  readonly validateEphemeral: PluginMethod<
    t6.ValidateEphemeralResourceConfig_Request,
    t6.ValidateEphemeralResourceConfig_Response
  >;
  readonly configure: PluginMethod<t6.ConfigureProvider_Request, t6.ConfigureProvider_Response>;
  readonly upgradeState: PluginMethod<
    t6.UpgradeResourceState_Request,
    t6.UpgradeResourceState_Response
  >;
  readonly upgradeIdentity: PluginMethod<
    t6.UpgradeResourceIdentity_Request,
    t6.UpgradeResourceIdentity_Response
  >;
  readonly moveState: PluginMethod<t6.MoveResourceState_Request, t6.MoveResourceState_Response>;
  readonly read: PluginMethod<t6.ReadResource_Request, t6.ReadResource_Response>;
  readonly plan: PluginMethod<t6.PlanResourceChange_Request, t6.PlanResourceChange_Response>;
  readonly apply: PluginMethod<t6.ApplyResourceChange_Request, t6.ApplyResourceChange_Response>;
  readonly import: PluginMethod<t6.ImportResourceState_Request, t6.ImportResourceState_Response>;
  readonly readDataSource: PluginMethod<t6.ReadDataSource_Request, t6.ReadDataSource_Response>;
  readonly openEphemeral: PluginMethod<
    t6.OpenEphemeralResource_Request,
    t6.OpenEphemeralResource_Response
  >;
  readonly renewEphemeral: PluginMethod<
    t6.RenewEphemeralResource_Request,
    t6.RenewEphemeralResource_Response
  >;
  readonly closeEphemeral: PluginMethod<
    t6.CloseEphemeralResource_Request,
    t6.CloseEphemeralResource_Response
  >;
  readonly callFunction: PluginMethod<t6.CallFunction_Request, t6.CallFunction_Response>;
  readonly stop: PluginMethod<t6.StopProvider_Request, t6.StopProvider_Response>;
}

const PROTOCOL_6: PluginMethods = {
  getMetadata: method("GetMetadata", t6.GetMetadata_Request, t6.GetMetadata_Response),
  getProviderSchema: method(
    "GetProviderSchema",
    t6.GetProviderSchema_Request,
    t6.GetProviderSchema_Response,
  ),
  getResourceIdentitySchemas: method(
    "GetResourceIdentitySchemas",
    t6.GetResourceIdentitySchemas_Request,
    t6.GetResourceIdentitySchemas_Response,
  ),
  getFunctions: method("GetFunctions", t6.GetFunctions_Request, t6.GetFunctions_Response),
  validateProvider: method(
    "ValidateProviderConfig",
    t6.ValidateProviderConfig_Request,
    t6.ValidateProviderConfig_Response,
  ),
  validateResource: method(
    "ValidateResourceConfig",
    t6.ValidateResourceConfig_Request,
    t6.ValidateResourceConfig_Response,
  ),
  validateDataSource: method(
    "ValidateDataResourceConfig",
    t6.ValidateDataResourceConfig_Request,
    t6.ValidateDataResourceConfig_Response,
  ),
  validateEphemeral: method(
    "ValidateEphemeralResourceConfig",
    t6.ValidateEphemeralResourceConfig_Request,
    t6.ValidateEphemeralResourceConfig_Response,
  ),
  configure: method(
    "ConfigureProvider",
    t6.ConfigureProvider_Request,
    t6.ConfigureProvider_Response,
  ),
  upgradeState: method(
    "UpgradeResourceState",
    t6.UpgradeResourceState_Request,
    t6.UpgradeResourceState_Response,
  ),
  upgradeIdentity: method(
    "UpgradeResourceIdentity",
    t6.UpgradeResourceIdentity_Request,
    t6.UpgradeResourceIdentity_Response,
  ),
  moveState: method(
    "MoveResourceState",
    t6.MoveResourceState_Request,
    t6.MoveResourceState_Response,
  ),
  read: method("ReadResource", t6.ReadResource_Request, t6.ReadResource_Response),
  plan: method("PlanResourceChange", t6.PlanResourceChange_Request, t6.PlanResourceChange_Response),
  apply: method(
    "ApplyResourceChange",
    t6.ApplyResourceChange_Request,
    t6.ApplyResourceChange_Response,
  ),
  import: method(
    "ImportResourceState",
    t6.ImportResourceState_Request,
    t6.ImportResourceState_Response,
  ),
  readDataSource: method("ReadDataSource", t6.ReadDataSource_Request, t6.ReadDataSource_Response),
  openEphemeral: method(
    "OpenEphemeralResource",
    t6.OpenEphemeralResource_Request,
    t6.OpenEphemeralResource_Response,
  ),
  renewEphemeral: method(
    "RenewEphemeralResource",
    t6.RenewEphemeralResource_Request,
    t6.RenewEphemeralResource_Response,
  ),
  closeEphemeral: method(
    "CloseEphemeralResource",
    t6.CloseEphemeralResource_Request,
    t6.CloseEphemeralResource_Response,
  ),
  callFunction: method("CallFunction", t6.CallFunction_Request, t6.CallFunction_Response),
  stop: method("StopProvider", t6.StopProvider_Request, t6.StopProvider_Response),
};

/**
 * Apart from schemas the messages of both protocols are the same bytes: fields that only one of them has are absent or
 * ignored. So protocol 5 is protocol 6 with other names, and one exception.
 */
const PROTOCOL_5: PluginMethods = {
  ...PROTOCOL_6,
  getProviderSchema: {
    name: "GetSchema",
    request: t5.GetProviderSchema_Request,
    response: SCHEMA_5,
  },
  validateProvider: { ...PROTOCOL_6.validateProvider, name: "PrepareProviderConfig" },
  validateResource: { ...PROTOCOL_6.validateResource, name: "ValidateResourceTypeConfig" },
  validateDataSource: { ...PROTOCOL_6.validateDataSource, name: "ValidateDataSourceConfig" },
  configure: { ...PROTOCOL_6.configure, name: "Configure" },
  stop: { ...PROTOCOL_6.stop, name: "Stop" },
};

/** The methods of each protocol. */
export const PLUGIN_METHODS: Readonly<Record<5 | 6, PluginMethods>> = {
  5: PROTOCOL_5,
  6: PROTOCOL_6,
};

/** Names of methods that are called otherwise in protocol 5, by their names in protocol 6. */
export const NAMES_IN_5: ReadonlyMap<string, string> = new Map(
  (Object.keys(PROTOCOL_6) as (keyof PluginMethods)[])
    .map((key) => [PROTOCOL_6[key].name, PROTOCOL_5[key].name] as const)
    .filter(([name, other]) => name !== other),
);
