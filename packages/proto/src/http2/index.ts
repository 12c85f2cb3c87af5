export { ClientConnection } from "./client-connection.ts";
export type { StreamFailure, StreamListener } from "./client-stream.ts";
export { ClientStream } from "./client-stream.ts";
export { HTTP2_ERRORS, http2ErrorName } from "./error-codes.ts";
export type { HeaderList } from "./header-block.ts";
export { encodeHeaders } from "./header-block.ts";
