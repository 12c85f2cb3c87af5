export { ClientConnection } from "./client-connection.ts";
export { HTTP2_ERRORS, http2ErrorName } from "./error-codes.ts";
export type { HeaderList } from "./header-block.ts";
export { encodeHeaders } from "./header-block.ts";
export type { StreamFailure, StreamListener } from "./http2-stream.ts";
export { Http2Stream } from "./http2-stream.ts";
export type { RequestListener } from "./server-connection.ts";
export { ServerConnection } from "./server-connection.ts";
