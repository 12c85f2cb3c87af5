const good = {
  method_name: "/tfplugin5.Provider/GetSchema",
  request_data: "",
  context: { session_id: "s", config_data: "" },
};

const json = (value: unknown) => Buffer.from(JSON.stringify(value));

/** Requests that are no envelope of the contract; a function must refuse each of them. */
export const malformedRequests: readonly { readonly name: string; readonly body: Uint8Array }[] = [
  { name: "an empty body", body: new Uint8Array() },
  { name: "half an object", body: Buffer.from('{"method_name":') },
  { name: "an array", body: json([good]) },
  { name: "a text", body: json("GetSchema") },
  { name: "null", body: json(null) },
  { name: "text behind the object", body: Buffer.from(`${JSON.stringify(good)} {}`) },
  {
    name: "invalid UTF-8",
    body: Buffer.concat([
      Buffer.from('{"method_name":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('"}'),
    ]),
  },
  { name: "no method_name", body: json({ ...good, method_name: undefined }) },
  { name: "a method_name that is a number", body: json({ ...good, method_name: 7 }) },
  {
    name: "a method_name that is a list",
    body: json({ ...good, method_name: [good.method_name] }),
  },
  { name: "no request_data", body: json({ ...good, request_data: undefined }) },
  { name: "request_data that is an object", body: json({ ...good, request_data: {} }) },
  { name: "request_data that is not base64", body: json({ ...good, request_data: "%%%%" }) },
  { name: "request_data with white space", body: json({ ...good, request_data: "AA AA" }) },
  { name: "no context", body: json({ ...good, context: undefined }) },
  { name: "a context that is a text", body: json({ ...good, context: "s" }) },
  { name: "no session_id", body: json({ ...good, context: { config_data: "" } }) },
  {
    name: "a session_id that is a number",
    body: json({ ...good, context: { session_id: 1, config_data: "" } }),
  },
  {
    name: "config_data that is not base64",
    body: json({ ...good, context: { session_id: "s", config_data: "{}" } }),
  },
  {
    name: "config_data that is a list",
    body: json({ ...good, context: { session_id: "s", config_data: [] } }),
  },
];
