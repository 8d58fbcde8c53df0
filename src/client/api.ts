/** Made from /openapi.json by test/http/openapi.test.ts. */
export interface paths {
    "/api/v1/account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your account
         * @description Your name, credits and subscription.
         */
        get: operations["getAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Submit a generation
         * @description Charges its credits and queues it. One may be active at a time.
         */
        post: operations["submitGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/generate/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * See how a generation is doing
         * @description Poll until `status` is `succeeded` or `failed`. Until then `Retry-After` says when the next poll is worth it, `X-Eta-Seconds` when the end is to be expected (where that is known), and `X-Progress` from 0 to 1 how much is drawn. With `wait` the answer comes as soon as there is something new; that counts as one request.
         */
        get: operations["pollGeneration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/generate/{id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a generation
         * @description What has not ended fails with "Canceled.", all its credits are given back, and another one may be submitted at once. What has ended stays as it is. Answers like a poll, however often it is asked. No body is needed.
         */
        post: operations["cancelGeneration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/generate/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Follow a generation live
         * @description Server-sent events: first how it stands, then each change, a comment every 15 s, and at last `end`. Nothing is repeated: after a broken connection connect anew. A stream counts as one request; 8 may be open at once.
         */
        get: operations["streamGenerationEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The model versions on offer
         * @description Sorted by the name of the model, then by that of the version.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/generate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create one image
         * @description Answers when the picture is stored, within 120 s.
         */
        post: operations["createImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @example {
         *       "username": "alice",
         *       "credits": 94,
         *       "subscription": {
         *         "status": "active",
         *         "plan": "Pro",
         *         "endDate": "2027-01-31T00:00:00.000Z"
         *       }
         *     }
         */
        Account: {
            /** @description What you hold now */
            credits: number;
            /** @description null without a subscription */
            subscription: {
                /** Format: date-time */
                endDate: string;
                plan: string;
                /** @description Such as "active", "canceled" or "expired" */
                status: string;
            } | null;
            username: string;
        };
        /**
         * @example {
         *       "success": true,
         *       "data": {
         *         "image_id": "Zk3vQ9xT1bN7mR4wY8cL2s",
         *         "url": "https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png",
         *         "status": "completed",
         *         "parameters": {
         *           "prompt": "a lighthouse at dusk",
         *           "model": "noobai-xl",
         *           "steps": 28,
         *           "cfg_scale": 7,
         *           "width": 832,
         *           "height": 1216,
         *           "seed": 1803774619
         *         },
         *         "created_at": "2026-11-20T21:04:11.062Z"
         *       }
         *     }
         */
        CreatedImage: {
            data: {
                /** Format: date-time */
                created_at: string;
                /** @description The slug: {base_url}/image/<image_id> shows the picture */
                image_id: string;
                parameters: {
                    cfg_scale: number;
                    height: number;
                    /** @enum {string} */
                    model: "noobai-xl" | "duchaiten" | "duchaiten-real" | "hassaku-illustrious" | "wai-nsfw-illustrious" | "plant-milk";
                    prompt: string;
                    /** @description The seed used */
                    seed: number;
                    steps: number;
                    width: number;
                };
                /** @constant */
                status: "completed";
                /** @description Permanent and public */
                url: string;
            };
            /** @constant */
            success: true;
        };
        /**
         * @example {
         *       "success": false,
         *       "error": {
         *         "code": "invalid_parameter",
         *         "message": "steps must be an integer from 20 to 50.",
         *         "parameter": "steps"
         *       }
         *     }
         */
        CreateImageProblem: {
            error: {
                /**
                 * @description A stable code for programs
                 * @enum {string}
                 */
                code: "unauthorized" | "forbidden" | "invalid_parameter" | "not_found" | "content_policy_violation" | "insufficient_credits" | "rate_limit_exceeded" | "idempotency_conflict" | "generation_failed" | "timeout" | "unavailable" | "internal_error";
                /** @description One sentence that says what to do */
                message: string;
                /** @description The offending field of the request */
                parameter?: string;
                /** @description Seconds to wait before the next try */
                retry_after?: number;
            };
            /** @constant */
            success: false;
        };
        /**
         * @example {
         *       "id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "status": "queued",
         *       "queue_position": 3
         *     }
         * @example {
         *       "id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "status": "processing"
         *     }
         * @example {
         *       "id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "status": "succeeded",
         *       "output": {
         *         "images": [
         *           {
         *             "url": "https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png",
         *             "id": "Zk3vQ9xT1bN7mR4wY8cL2s"
         *           }
         *         ],
         *         "seed": 1803774619
         *       }
         *     }
         * @example {
         *       "id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "status": "failed",
         *       "error": "Canceled."
         *     }
         */
        Generation: {
            /** @description The ID of the generation */
            id: string;
            /** @description 1 for the next one up */
            queue_position: number;
            /** @constant */
            status: "queued";
        } | {
            /** @description The ID of the generation */
            id: string;
            /** @constant */
            status: "processing";
        } | {
            /** @description The ID of the generation */
            id: string;
            output: {
                images: {
                    /** @description The slug: {base_url}/image/<id> shows the picture */
                    id: string;
                    /** @description Permanent and public */
                    url: string;
                }[];
                seed: number;
            };
            /** @constant */
            status: "succeeded";
        } | {
            /** @description One sentence */
            error: string;
            /** @description The ID of the generation */
            id: string;
            /** @constant */
            status: "failed";
        };
        /**
         * @description `status`: the body of a poll, at the start and whenever the status changes. `queue_position`: `{"queue_position"}`. `progress`: `{"progress"}`, 0 to 1. `preview`: `{"image"}`, a data URI of at most 24 KiB, where the GPU server shows what it draws. `end`: the body of the last poll; the stream is over.
         * @example event: status
         *     data: {"id":"gen_4c6t8w2r5y1k9m3n7p0q6s2v8x","status":"queued","queue_position":3}
         */
        GenerationEvents: string;
        /**
         * @example {
         *       "models": [
         *         {
         *           "id": 10,
         *           "name": "v6",
         *           "model_name": "Pony Diffusion",
         *           "base_model": "Pony",
         *           "type": "Checkpoint",
         *           "filename": "ponyDiffusionV6XL.safetensors",
         *           "cover_image": null,
         *           "nsfw": false
         *         }
         *       ],
         *       "count": 1
         *     }
         */
        ModelList: {
            /** @description How many there are */
            count: number;
            models: {
                /** @description The architecture, such as "Pony" or "Illustrious" */
                base_model: string;
                /** @description A URL */
                cover_image: string | null;
                filename: string;
                /** @description Goes into `model_version_id` */
                id: number;
                model_name: string;
                /** @description The version's name */
                name: string;
                nsfw: boolean;
                /** @description Such as "Checkpoint" */
                type: string;
            }[];
        };
        /**
         * @example {
         *       "error": "Generation not found: check the ID."
         *     }
         */
        Problem: {
            /** @description One sentence that says what to do */
            error: string;
        };
        /**
         * @example {
         *       "id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "status": "queued",
         *       "model_version_id": 10,
         *       "model_name": "Pony Diffusion",
         *       "credits_charged": 1,
         *       "seed": 1803774619,
         *       "created_at": "2026-11-20T21:04:11.062Z",
         *       "poll_url": "https://easel.example/api/v1/generate/gen_4c6t8w2r5y1k9m3n7p0q6s2v8x"
         *     }
         */
        SubmittedGeneration: {
            /** Format: date-time */
            created_at: string;
            credits_charged: number;
            /** @description The ID of the generation */
            id: string;
            model_name: string;
            model_version_id: number;
            poll_url: string;
            /** @description Of the first image; image n uses (seed + n) mod 2^32 */
            seed: number;
            /** @constant */
            status: "queued";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getAccount: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Account"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    submitGeneration: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key with the same body gets the first answer again, charged once; kept for 24 hours */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default 1 */
                    batch_size?: number | null;
                    /** @default 7 */
                    cfg_scale?: number | null;
                    /** @default 1216 */
                    height?: number | null;
                    /** @description An `id` of GET /api/v1/models */
                    model_version_id: number;
                    /** @default  */
                    negative_prompt?: string | null;
                    /** @description What to draw */
                    prompt: string;
                    /** @default euler_a */
                    sampler?: ("euler_a" | "euler" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "dpmpp_2m" | "dpmpp_sde" | "dpmpp_sde_karras" | "ddim" | "ddpm" | "heun" | "lms" | "lms_karras" | "dpm2" | "dpm2_a" | "unipc" | "pndm" | "deis" | "dpm_sde_karras") | null;
                    /** @default -1 */
                    seed?: number | null;
                    /** @default 30 */
                    steps?: number | null;
                    /** @default 832 */
                    width?: number | null;
                };
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubmittedGeneration"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not enough credits */
            402: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description No active subscription, or not available */
            403: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A request with this Idempotency-Key is still being processed */
            409: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is larger than 64 KiB */
            413: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is not application/json */
            415: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description This Idempotency-Key was used with another body */
            422: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    pollGeneration: {
        parameters: {
            query?: {
                /** @description Answer as soon as the status or the place changes, at the latest after so many seconds */
                wait?: number;
            };
            header?: {
                /** @description The `ETag` of the last answer: 304 while it would be the same */
                "if-none-match"?: string;
            };
            path: {
                /** @description The ID of the generation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description As you have it already */
            304: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    cancelGeneration: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the generation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The body is larger than 64 KiB */
            413: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    streamGenerationEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the generation */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["GenerationEvents"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ModelList"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createImage: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same key with the same body gets the first answer again, charged once; kept for 24 hours */
                "idempotency-key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default 7 */
                    cfg_scale?: number | null;
                    /** @default 1216 */
                    height?: number | null;
                    /** @default noobai-xl */
                    model?: ("noobai-xl" | "duchaiten" | "duchaiten-real" | "hassaku-illustrious" | "wai-nsfw-illustrious" | "plant-milk") | null;
                    /** @default  */
                    negative_prompt?: string | null;
                    /** @description What to draw */
                    prompt: string;
                    /** @default dpm-2m-karras */
                    sampler?: ("euler-a" | "dpm-2m-karras" | "dpm-sde-karras" | "ddim") | null;
                    /** @default -1 */
                    seed?: number | null;
                    /** @default 28 */
                    steps?: number | null;
                    /** @default 832 */
                    width?: number | null;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreatedImage"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description Not enough credits */
            402: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description No active subscription, or not available */
            403: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description A request with this Idempotency-Key is still being processed */
            409: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description The body is larger than 64 KiB */
            413: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description The body is not application/json */
            415: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description This Idempotency-Key was used with another body */
            422: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
            /** @description The picture was not ready in time */
            504: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreateImageProblem"];
                };
            };
        };
    };
}
