import type {
  CheckRequest,
  CheckResponse,
  CreateRequest,
  CreateResponse,
  DeleteRequest,
  GetRequest,
  GetResponse,
  NameRequest,
  NameResponse,
  PreviewUpdateResponse,
  UpdateRequest,
} from "@stackwright/proto/cocorpc";
import type { Empty } from "@stackwright/proto/google/protobuf";
import type { CallContext } from "../call-context.ts";

/**
 * A provider of the 2017 protocol, on decoded messages. Three rules bind it, and adapters keep them on both sides:
 * a failed Create means that nothing was created, a failed Delete that the resource still exists, and resources of
 * one name are interchangeable.
 *
 * Source: the provider interface of April 2017 (seed 002).
 */
export interface CocorpcProvider {
  check(request: CheckRequest, context: CallContext): Promise<CheckResponse>;
  name(request: NameRequest, context: CallContext): Promise<NameResponse>;
  create(request: CreateRequest, context: CallContext): Promise<CreateResponse>;
  get(request: GetRequest, context: CallContext): Promise<GetResponse>;
  previewUpdate(request: UpdateRequest, context: CallContext): Promise<PreviewUpdateResponse>;
  update(request: UpdateRequest, context: CallContext): Promise<Empty>;
  delete(request: DeleteRequest, context: CallContext): Promise<Empty>;
}
