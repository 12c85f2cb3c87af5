import * as t6 from "@stackwright/proto/tfplugin6";

/** What a name can be the name of. Each is owned by one server of a mux. */
export type RouteKind =
  | "resource"
  | "dataSource"
  | "ephemeralResource"
  | "listResource"
  | "function"
  | "action"
  | "stateStore";

/** The kinds by name, for messages. */
export const KIND_NAMES: Readonly<Record<RouteKind, string>> = {
  resource: "Resource",
  dataSource: "Data Source",
  ephemeralResource: "Ephemeral Resource",
  listResource: "List Resource",
  function: "Function",
  action: "Action",
  stateStore: "State Store",
};

/** How the messages of a method travel. */
type Shape = "unary" | "server stream" | "client stream";

/** A method that goes to the owner of a name. */
export interface Route {
  readonly kind: RouteKind;
  readonly shape: Shape;
  /** Number of the field of the request that holds the name. */
  readonly nameField: number;
  /** The answer where no server answers: with an error diagnostic, and with the object as it was before. */
  readonly failed: (diagnostic: t6.Diagnostic, request: Uint8Array) => Uint8Array;
}

interface Codec {
  readonly fromPartial: (message: never) => unknown;
  readonly encode: (message: never) => { finish(): Uint8Array };
}

/** A route whose answer has a list of diagnostics. */
function route(
  kind: RouteKind,
  response: Codec,
  options: { readonly shape?: Shape; readonly nameField?: number; readonly list?: string } = {},
): Route {
  const { shape = "unary", nameField = 1, list = "diagnostics" } = options;
  return {
    kind,
    shape,
    nameField,
    failed: (diagnostic) =>
      response.encode(response.fromPartial({ [list]: [diagnostic] } as never) as never).finish(),
  };
}

/**
 * Methods that are routed, by their names in protocol 6.
 *
 * A read and an apply without an answer leave what there was: an answer without an object would say that it is gone.
 */
export const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ["ValidateResourceConfig", route("resource", t6.ValidateResourceConfig_Response)],
  ["UpgradeResourceState", route("resource", t6.UpgradeResourceState_Response)],
  ["UpgradeResourceIdentity", route("resource", t6.UpgradeResourceIdentity_Response)],
  ["ReadResource", { ...route("resource", t6.ReadResource_Response), failed: failedRead }],
  ["PlanResourceChange", route("resource", t6.PlanResourceChange_Response)],
  [
    "ApplyResourceChange",
    { ...route("resource", t6.ApplyResourceChange_Response), failed: failedApply },
  ],
  ["ImportResourceState", route("resource", t6.ImportResourceState_Response)],
  ["GenerateResourceConfig", route("resource", t6.GenerateResourceConfig_Response)],
  // By the type that it is to become.
  ["MoveResourceState", route("resource", t6.MoveResourceState_Response, { nameField: 5 })],
  ["ValidateDataResourceConfig", route("dataSource", t6.ValidateDataResourceConfig_Response)],
  ["ReadDataSource", route("dataSource", t6.ReadDataSource_Response)],
  [
    "ValidateEphemeralResourceConfig",
    route("ephemeralResource", t6.ValidateEphemeralResourceConfig_Response),
  ],
  ["OpenEphemeralResource", route("ephemeralResource", t6.OpenEphemeralResource_Response)],
  ["RenewEphemeralResource", route("ephemeralResource", t6.RenewEphemeralResource_Response)],
  ["CloseEphemeralResource", route("ephemeralResource", t6.CloseEphemeralResource_Response)],
  ["ValidateListResourceConfig", route("listResource", t6.ValidateListResourceConfig_Response)],
  [
    "ListResource",
    route("listResource", t6.ListResource_Event, { shape: "server stream", list: "diagnostic" }),
  ],
  ["ValidateActionConfig", route("action", t6.ValidateActionConfig_Response)],
  ["PlanAction", route("action", t6.PlanAction_Response)],
  [
    "InvokeAction",
    {
      ...route("action", t6.InvokeAction_Event, { shape: "server stream" }),
      failed: failedAction,
    },
  ],
  ["ValidateStateStoreConfig", route("stateStore", t6.ValidateStateStoreConfig_Response)],
  ["ConfigureStateStore", route("stateStore", t6.ConfigureStateStore_Response)],
  [
    "ReadStateBytes",
    route("stateStore", t6.ReadStateBytes_ResponseChunk, { shape: "server stream" }),
  ],
  ["WriteStateBytes", route("stateStore", t6.WriteStateBytes_Response, { shape: "client stream" })],
  ["LockState", route("stateStore", t6.LockState_Response)],
  ["UnlockState", route("stateStore", t6.UnlockState_Response)],
  ["GetStates", route("stateStore", t6.GetStates_Response)],
  ["DeleteState", route("stateStore", t6.DeleteState_Response)],
  ["CallFunction", { kind: "function", shape: "unary", nameField: 1, failed: failedFunction }],
]);

function failedRead(diagnostic: t6.Diagnostic, request: Uint8Array): Uint8Array {
  const { currentState, private: privateBytes } = t6.ReadResource_Request.decode(request);
  return t6.ReadResource_Response.encode(
    t6.ReadResource_Response.fromPartial({
      diagnostics: [diagnostic],
      private: privateBytes,
      ...(currentState && { newState: currentState }),
    }),
  ).finish();
}

function failedApply(diagnostic: t6.Diagnostic, request: Uint8Array): Uint8Array {
  const { priorState, plannedPrivate } = t6.ApplyResourceChange_Request.decode(request);
  return t6.ApplyResourceChange_Response.encode(
    t6.ApplyResourceChange_Response.fromPartial({
      diagnostics: [diagnostic],
      private: plannedPrivate,
      ...(priorState && { newState: priorState }),
    }),
  ).finish();
}

function failedAction(diagnostic: t6.Diagnostic): Uint8Array {
  return t6.InvokeAction_Event.encode(
    t6.InvokeAction_Event.fromPartial({
      type: { $case: "completed", value: { diagnostics: [diagnostic] } },
    }),
  ).finish();
}

function failedFunction({ summary, detail }: t6.Diagnostic): Uint8Array {
  return t6.CallFunction_Response.encode(
    t6.CallFunction_Response.fromPartial({ error: { text: `${summary}: ${detail}` } }),
  ).finish();
}
