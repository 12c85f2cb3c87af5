declare const encoding: unique symbol;

/**
 * The encoded bytes of a `google.protobuf.Struct` message.
 *
 * Generated messages hold Structs in this form, and not decoded, so that a proxy passes them on
 * byte by byte and the property codec reads them in one pass. It is a view of the message that it
 * was decoded from: copy it to keep it longer than that. The empty array is the empty Struct;
 * an absent Struct is `undefined`.
 */
export type EncodedStruct = Uint8Array & { readonly [encoding]: "google.protobuf.Struct" };

/** The encoded bytes of a `google.protobuf.Value` message; see {@link EncodedStruct}. */
export type EncodedValue = Uint8Array & { readonly [encoding]: "google.protobuf.Value" };

/** The encoded bytes of a `google.protobuf.ListValue` message; see {@link EncodedStruct}. */
export type EncodedListValue = Uint8Array & { readonly [encoding]: "google.protobuf.ListValue" };
