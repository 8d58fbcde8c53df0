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
    "/api/v1/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What may be asked for
         * @description Limits, defaults, samplers, sizes and prices. Changes seldom: send the `ETag` in `If-None-Match` and get 304.
         */
        get: operations["getCapabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/credits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your credits, and every one that moved, newest first
         * @description A generation is charged once, and given back at most once.
         */
        get: operations["listCredits"];
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
         * @description Charges its credits and queues it. One may be active at a time. With `dry_run=true` nothing is charged or queued: the same checks, and the price.
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
         * @description Poll until `status` is `succeeded` or `failed`. Until then `Retry-After` says when the next poll is worth it, `X-Eta-Seconds` when the end is to be expected, and `X-Progress` from 0 to 1 how much is drawn, each where that is known. With `wait` the answer comes as soon as there is something new; that counts as one request.
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
    "/api/v1/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your generations, newest first
         * @description With all that was asked for, when it ran, what it cost and what came of it.
         */
        get: operations["listGenerations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/images": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your pictures, newest first
         * @description In the order of their submits, those of a batch in its order.
         */
        get: operations["listImages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/images/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One of your pictures, with all that it was made from
         * @description Enough to have it made again, here or elsewhere.
         */
        get: operations["getImage"];
        put?: never;
        post?: never;
        /**
         * Take one of your pictures down
         * @description Its file is removed, its public URL says 404 and its page 410. May be repeated.
         */
        delete: operations["removeImage"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/images/{id}/file": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The file of one of your pictures, with its parameters in it
         * @description As AUTOMATIC1111 writes them, for tools that read them. The public file has no prompt.
         */
        get: operations["getImageFile"];
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
    "/api/v1/moderate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Check a prompt
         * @description Says what moderation would say to a submit with this prompt. Costs nothing.
         */
        post: operations["moderatePrompt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Your webhook endpoints
         * @description Oldest first.
         */
        get: operations["listWebhooks"];
        put?: never;
        /**
         * Be told of events
         * @description At most 10 endpoints. The secret in the answer is shown this once.
         */
        post: operations["createWebhook"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One webhook endpoint
         * @description `status` is `disabled` when it answered 410, or when nothing could be delivered for 3 days.
         */
        get: operations["getWebhook"];
        put?: never;
        post?: never;
        /**
         * Delete a webhook endpoint
         * @description What waits for it is not sent any more.
         */
        delete: operations["deleteWebhook"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What was sent to an endpoint
         * @description Newest first; kept for 30 days.
         */
        get: operations["listWebhookDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/rotate-secret": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a new secret
         * @description For 24 hours events are signed with the old one, too: `webhook-signature` then holds both.
         */
        post: operations["rotateWebhookSecret"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/webhooks/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a test event
         * @description Sent, signed, tried again and logged like any other event.
         */
        post: operations["testWebhook"];
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
         * @description Answers when the picture is stored, within 120 s. With `webhook_url` it answers 202 at once; that URL is then told `image.completed` with the `data` of the 200, or `generation.failed`.
         */
        post: operations["createImage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/images/generations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create images, in OpenAI's shape
         * @description Answers when the pictures are stored, within 120 s. Takes the fields of Create Image beside those of OpenAI, and refuses what it cannot honour; `X-Ignored-Fields` names what changes nothing.
         */
        post: operations["createOpenAiImages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The models on offer, in OpenAI's shape
         * @description Under Create Image's ID where there is one, else under the names of model and version. `model` may also be a model version's ID.
         */
        get: operations["listOpenAiModels"];
        put?: never;
        post?: never;
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
        Capabilities: {
            /** @description What POST /v1/images/generate takes instead; its other limits are the same */
            create_image: {
                defaults: {
                    cfg_scale: number;
                    height: number;
                    /** @enum {string} */
                    model: "noobai-xl" | "duchaiten" | "duchaiten-real" | "hassaku-illustrious" | "wai-nsfw-illustrious" | "plant-milk";
                    negative_prompt: string;
                    /** @enum {string} */
                    sampler: "euler-a" | "dpm-2m-karras" | "dpm-sde-karras" | "ddim";
                    seed: number;
                    steps: number;
                    width: number;
                };
                limits: {
                    cfg_scale: {
                        max: number;
                        min: number;
                    };
                    steps: {
                        max: number;
                        min: number;
                    };
                };
                models: ("noobai-xl" | "duchaiten" | "duchaiten-real" | "hassaku-illustrious" | "wai-nsfw-illustrious" | "plant-milk")[];
                samplers: ("euler-a" | "dpm-2m-karras" | "dpm-sde-karras" | "ddim")[];
            };
            defaults: {
                batch_size: number;
                cfg_scale: number;
                height: number;
                negative_prompt: string;
                /** @enum {string} */
                sampler: "euler_a" | "euler" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "dpmpp_2m" | "dpmpp_sde" | "dpmpp_sde_karras" | "ddim" | "ddpm" | "heun" | "lms" | "lms_karras" | "dpm2" | "dpm2_a" | "unipc" | "pndm" | "deis" | "dpm_sde_karras";
                seed: number;
                steps: number;
                width: number;
            };
            limits: {
                batch_size: {
                    max: number;
                    min: number;
                };
                cfg_scale: {
                    max: number;
                    min: number;
                };
                /** @description Pixels */
                height: {
                    max: number;
                    min: number;
                    /** @description Only multiples of it */
                    step: number;
                };
                /** @description width × height at most */
                pixels: number;
                /** @description Unicode code points at most, of `negative_prompt`, too */
                prompt_length: number;
                seed: {
                    max: number;
                    min: number;
                    /** @description Asks for a random one */
                    random: number;
                };
                steps: {
                    max: number;
                    min: number;
                };
                /** @description Pixels */
                width: {
                    max: number;
                    min: number;
                    /** @description Only multiples of it */
                    step: number;
                };
            };
            models: {
                credits_per_image: number;
                model_name: string;
                model_version_id: number;
                name: string;
            }[];
            /** @description Per account, over a sliding window */
            rate_limit: {
                requests: number;
                window_seconds: number;
            };
            /** @description What models of the SDXL kind draw best */
            recommended_sizes: {
                height: number;
                width: number;
            }[];
            samplers: ("euler_a" | "euler" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "dpmpp_2m" | "dpmpp_sde" | "dpmpp_sde_karras" | "ddim" | "ddpm" | "heun" | "lms" | "lms_karras" | "dpm2" | "dpm2_a" | "unipc" | "pndm" | "deis" | "dpm_sde_karras")[];
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
                code: "unauthorized" | "forbidden" | "invalid_parameter" | "not_found" | "method_not_allowed" | "content_policy_violation" | "insufficient_credits" | "rate_limit_exceeded" | "idempotency_conflict" | "generation_failed" | "timeout" | "unavailable" | "internal_error";
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
         *       "credits": 100,
         *       "entries": [
         *         {
         *           "kind": "grant",
         *           "delta": 100,
         *           "balance": 100,
         *           "generation_id": null,
         *           "note": "Welcome",
         *           "created_at": "2026-11-20T21:04:11.062Z"
         *         }
         *       ],
         *       "next_cursor": null
         *     }
         */
        CreditList: {
            /** @description What you hold now */
            credits: number;
            entries: {
                /** @description What you held right after it */
                balance: number;
                /** Format: date-time */
                created_at: string;
                /** @description Below zero for a charge */
                delta: number;
                /** @description null for a grant */
                generation_id: string | null;
                /** @enum {string} */
                kind: "grant" | "charge" | "refund";
                /** @description What a grant was for */
                note: string | null;
            }[];
            /** @description Goes into `cursor` to get what comes next; null at the end. New ones at the front do not move it */
            next_cursor: string | null;
        };
        /**
         * @example {
         *       "dry_run": true,
         *       "model_version_id": 10,
         *       "model_name": "Pony Diffusion",
         *       "credits_needed": 4,
         *       "credits_held": 94,
         *       "sufficient": true,
         *       "active_generation": null
         *     }
         */
        DryRun: {
            /** @description The ID of the one that a submit would have to wait for */
            active_generation: string | null;
            credits_held: number;
            credits_needed: number;
            /** @constant */
            dry_run: true;
            model_name: string;
            model_version_id: number;
            /** @description Whether the credits suffice */
            sufficient: boolean;
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
        GenerationList: {
            generations: components["schemas"]["PastGeneration"][];
            /** @description Goes into `cursor` to get what comes next; null at the end. New ones at the front do not move it */
            next_cursor: string | null;
        };
        /**
         * @example {
         *       "id": "Zk3vQ9xT1bN7mR4wY8cL2s",
         *       "url": "https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png",
         *       "page_url": "https://easel.example/image/Zk3vQ9xT1bN7mR4wY8cL2s",
         *       "width": 832,
         *       "height": 1216,
         *       "seed": 1803774619,
         *       "bytes": 1482113,
         *       "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
         *       "model_version_id": 10,
         *       "model_name": "Pony Diffusion",
         *       "generation_id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "created_at": "2026-11-20T21:04:17.062Z"
         *     }
         */
        Image: {
            bytes: number;
            /** Format: date-time */
            created_at: string;
            generation_id: string;
            height: number;
            id: string;
            model_name: string;
            model_version_id: number;
            /** @description The website shows it there */
            page_url: string;
            /** @description Its own: makes it again alone */
            seed: number;
            /** @description Of the public file, in hex */
            sha256: string;
            /** @description Permanent and public */
            url: string;
            width: number;
        };
        /**
         * @example {
         *       "id": "Zk3vQ9xT1bN7mR4wY8cL2s",
         *       "url": "https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png",
         *       "page_url": "https://easel.example/image/Zk3vQ9xT1bN7mR4wY8cL2s",
         *       "width": 832,
         *       "height": 1216,
         *       "seed": 1803774619,
         *       "bytes": 1482113,
         *       "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
         *       "model_version_id": 10,
         *       "model_name": "Pony Diffusion",
         *       "generation_id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "created_at": "2026-11-20T21:04:17.062Z",
         *       "prompt": "a lighthouse at dusk",
         *       "negative_prompt": "",
         *       "steps": 30,
         *       "cfg_scale": 7,
         *       "sampler": "dpmpp_2m_karras",
         *       "filename": "ponyDiffusionV6XL.safetensors",
         *       "made_with": {
         *         "backend": "a1111",
         *         "version": "v1.10.1",
         *         "sampler": "DPM++ 2M",
         *         "scheduler": "Karras"
         *       }
         *     }
         */
        ImageDetail: {
            bytes: number;
            cfg_scale: number;
            /** Format: date-time */
            created_at: string;
            /** @description The model's file */
            filename: string;
            generation_id: string;
            height: number;
            id: string;
            /** @description How the server that drew it was asked, in its own words; null where that was not kept */
            made_with: {
                /** @description The kind of server */
                backend: string;
                sampler: string;
                scheduler: string | null;
                version: string | null;
            } | null;
            model_name: string;
            model_version_id: number;
            negative_prompt: string;
            /** @description The website shows it there */
            page_url: string;
            prompt: string;
            /** @enum {string} */
            sampler: "euler_a" | "euler" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "dpmpp_2m" | "dpmpp_sde" | "dpmpp_sde_karras" | "ddim" | "ddpm" | "heun" | "lms" | "lms_karras" | "dpm2" | "dpm2_a" | "unipc" | "pndm" | "deis" | "dpm_sde_karras";
            /** @description Its own: makes it again alone */
            seed: number;
            /** @description Of the public file, in hex */
            sha256: string;
            steps: number;
            /** @description Permanent and public */
            url: string;
            width: number;
        };
        ImageList: {
            images: components["schemas"]["Image"][];
            /** @description Goes into `cursor` to get what comes next; null at the end. New ones at the front do not move it */
            next_cursor: string | null;
        };
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
         *       "flagged": false,
         *       "parameter": null,
         *       "category": null,
         *       "matched": []
         *     }
         */
        Moderation: {
            category: string | null;
            /** @description Whether a submit would be refused */
            flagged: boolean;
            /** @description The words that were recognised, as far as they are known */
            matched: string[];
            /** @description The field it is about */
            parameter: ("prompt" | "negative_prompt") | null;
        };
        /**
         * @example {
         *       "created": 1795208651,
         *       "data": [
         *         {
         *           "url": "https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png"
         *         }
         *       ]
         *     }
         */
        OpenAiImages: {
            /** @description Seconds since 1970 */
            created: number;
            data: {
                /** @description The PNG in base64 */
                b64_json?: string;
                /** @description Permanent and public */
                url?: string;
            }[];
        };
        /**
         * @example {
         *       "object": "list",
         *       "data": [
         *         {
         *           "id": "noobai-xl",
         *           "object": "model",
         *           "created": 0,
         *           "owned_by": "NoobAI-XL"
         *         }
         *       ]
         *     }
         */
        OpenAiModels: {
            data: {
                /** @description Always 0: it is not known */
                created: number;
                id: string;
                /** @constant */
                object: "model";
                /** @description The model's name */
                owned_by: string;
            }[];
            /** @constant */
            object: "list";
        };
        /**
         * @example {
         *       "error": {
         *         "message": "Model \"dall-e-3\" is not installed on this server. Choose another model.",
         *         "type": "invalid_request_error",
         *         "param": "model",
         *         "code": "model_not_found"
         *       }
         *     }
         */
        OpenAiProblem: {
            error: {
                /** @description A stable code for programs */
                code: string;
                /** @description One sentence that says what to do */
                message: string;
                /** @description The offending field of the request */
                param: string | null;
                type: string;
            };
        };
        /**
         * @example {
         *       "id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *       "status": "succeeded",
         *       "interface": "personal",
         *       "model_version_id": 10,
         *       "model_name": "Pony Diffusion",
         *       "prompt": "a lighthouse at dusk",
         *       "negative_prompt": "",
         *       "width": 832,
         *       "height": 1216,
         *       "batch_size": 1,
         *       "steps": 30,
         *       "cfg_scale": 7,
         *       "sampler": "euler_a",
         *       "seed": 1803774619,
         *       "created_at": "2026-11-20T21:04:11.062Z",
         *       "started_at": "2026-11-20T21:04:11.562Z",
         *       "finished_at": "2026-11-20T21:04:17.062Z",
         *       "queue_ms": 500,
         *       "run_ms": 5500,
         *       "credits": {
         *         "charged": 1,
         *         "refunded": 0
         *       },
         *       "metered": false,
         *       "error": null,
         *       "images": [
         *         {
         *           "id": "Zk3vQ9xT1bN7mR4wY8cL2s",
         *           "url": "https://cdn.easel.example/Zk3vQ9xT1bN7mR4wY8cL2s.png",
         *           "seed": 1803774619
         *         }
         *       ]
         *     }
         */
        PastGeneration: {
            batch_size: number;
            cfg_scale: number;
            /** Format: date-time */
            created_at: string;
            credits: {
                charged: number;
                refunded: number;
            };
            /** @description Why it failed */
            error: string | null;
            finished_at: string | null;
            height: number;
            id: string;
            /** @description Without removed ones */
            images: {
                id: string;
                seed: number;
                url: string;
            }[];
            /**
             * @description Where it was submitted
             * @enum {string}
             */
            interface: "personal" | "create_image";
            /** @description Made with a developer key: counted instead of charged */
            metered: boolean;
            model_name: string;
            model_version_id: number;
            negative_prompt: string;
            prompt: string;
            /** @description From the submit to the start */
            queue_ms: number | null;
            /** @description From the first start to the end */
            run_ms: number | null;
            /** @enum {string} */
            sampler: "euler_a" | "euler" | "dpmpp_2m_karras" | "dpmpp_2m_sde_karras" | "dpmpp_2m" | "dpmpp_sde" | "dpmpp_sde_karras" | "ddim" | "ddpm" | "heun" | "lms" | "lms_karras" | "dpm2" | "dpm2_a" | "unipc" | "pndm" | "deis" | "dpm_sde_karras";
            /** @description Of the first image */
            seed: number;
            started_at: string | null;
            /** @enum {string} */
            status: "queued" | "processing" | "succeeded" | "failed";
            steps: number;
            width: number;
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
         *       "success": true,
         *       "data": {
         *         "image_id": "Zk3vQ9xT1bN7mR4wY8cL2s",
         *         "url": null,
         *         "status": "queued",
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
        QueuedImage: {
            data: {
                /** Format: date-time */
                created_at: string;
                /** @description The slug that the picture will have */
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
                status: "queued";
                /** @description Comes with the event image.completed */
                url: null;
            };
            /** @constant */
            success: true;
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
        /**
         * @example {
         *       "id": "whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5",
         *       "url": "https://example.com/easel",
         *       "description": "Production",
         *       "events": [
         *         "generation.succeeded",
         *         "generation.failed"
         *       ],
         *       "status": "enabled",
         *       "disabled_reason": null,
         *       "created_at": "2026-11-20T21:04:11.062Z"
         *     }
         */
        Webhook: {
            /** Format: date-time */
            created_at: string;
            description: string;
            /** @description Why nothing is sent there any more */
            disabled_reason: string | null;
            events: ("generation.succeeded" | "generation.failed" | "image.completed")[];
            id: string;
            /** @enum {string} */
            status: "enabled" | "disabled";
            url: string;
        };
        /**
         * @example {
         *       "deliveries": [
         *         {
         *           "event_id": "evt_0b9d8c7a6f5e4d3c2b1a09f8e7d6c5b4",
         *           "type": "generation.succeeded",
         *           "generation_id": "gen_4c6t8w2r5y1k9m3n7p0q6s2v8x",
         *           "status": "pending",
         *           "attempts": 2,
         *           "last_status": 500,
         *           "last_error": "status_not_2xx",
         *           "created_at": "2026-11-20T21:04:11.062Z",
         *           "next_try_at": "2026-11-20T21:04:49.311Z",
         *           "delivered_at": null
         *         }
         *       ],
         *       "next_cursor": null
         *     }
         */
        WebhookDeliveryList: {
            deliveries: {
                attempts: number;
                /** Format: date-time */
                created_at: string;
                delivered_at: string | null;
                /** @description The `webhook-id`, the same for every try */
                event_id: string;
                /** @description null for a test */
                generation_id: string | null;
                last_error: ("address_refused" | "dns_failed" | "connection_failed" | "tls_failed" | "timed_out" | "redirected" | "status_not_2xx" | "endpoint_gone" | "endpoint_ended" | "picture_removed" | "too_old") | null;
                /** @description The HTTP status of the last try; null when it was not answered */
                last_status: number | null;
                /** @description null when there will be none */
                next_try_at: string | null;
                /** @enum {string} */
                status: "pending" | "delivered" | "failed";
                /** @enum {string} */
                type: "generation.succeeded" | "generation.failed" | "image.completed" | "test";
            }[];
            /** @description Goes into `cursor` to get what comes next; null at the end. New ones at the front do not move it */
            next_cursor: string | null;
        };
        /**
         * @example {
         *       "webhooks": [
         *         {
         *           "id": "whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5",
         *           "url": "https://example.com/easel",
         *           "description": "Production",
         *           "events": [
         *             "generation.succeeded",
         *             "generation.failed"
         *           ],
         *           "status": "enabled",
         *           "disabled_reason": null,
         *           "created_at": "2026-11-20T21:04:11.062Z"
         *         }
         *       ],
         *       "count": 1
         *     }
         */
        WebhookList: {
            count: number;
            webhooks: components["schemas"]["Webhook"][];
        };
        /**
         * @example {
         *       "id": "evt_0b9d8c7a6f5e4d3c2b1a09f8e7d6c5b4",
         *       "type": "test"
         *     }
         */
        WebhookTest: {
            /** @description The `webhook-id` that it will have */
            id: string;
            /** @constant */
            type: "test";
        };
        /**
         * @example {
         *       "id": "whe_9f0c3b1e6d7a4c58b2e1f0a9d8c7b6a5",
         *       "url": "https://example.com/easel",
         *       "description": "Production",
         *       "events": [
         *         "generation.succeeded",
         *         "generation.failed"
         *       ],
         *       "status": "enabled",
         *       "disabled_reason": null,
         *       "created_at": "2026-11-20T21:04:11.062Z",
         *       "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
         *     }
         */
        WebhookWithSecret: {
            /** Format: date-time */
            created_at: string;
            description: string;
            /** @description Why nothing is sent there any more */
            disabled_reason: string | null;
            events: ("generation.succeeded" | "generation.failed" | "image.completed")[];
            id: string;
            /** @description Verifies what is sent; shown now and never again */
            secret: string;
            /** @enum {string} */
            status: "enabled" | "disabled";
            url: string;
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    getCapabilities: {
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
                    /** @description For `If-None-Match` */
                    ETag?: string;
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
                    "application/json": components["schemas"]["Capabilities"];
                };
            };
            /** @description As you have it already */
            304: {
                headers: {
                    /** @description For `If-None-Match` */
                    ETag?: string;
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
                content?: never;
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    listCredits: {
        parameters: {
            query?: {
                /** @description The page before's `next_cursor` */
                cursor?: string;
                /** @description How many at most */
                limit?: number;
            };
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CreditList"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
            query?: {
                /** @description Check and price the request, and do nothing */
                dry_run?: "true" | "false";
            };
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
            /** @description Done */
            200: {
                headers: {
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
                    "application/json": components["schemas"]["DryRun"];
                };
            };
            /** @description Created */
            201: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
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
                    "application/json": components["schemas"]["SubmittedGeneration"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "insufficient_credits";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "idempotency_in_flight";
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
                    "X-Error-Code"?: "payload_too_large";
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
                    "X-Error-Code"?: "unsupported_media_type";
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
                    "X-Error-Code"?: "idempotency_mismatch";
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
                    /** @description Where to poll it */
                    Location?: string;
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description The generation that is active, if that is the reason */
                    "X-Active-Generation"?: string;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
                    /** @description For `If-None-Match` */
                    ETag?: string;
                    /** @description Seconds until the next poll is worth it; absent at the end */
                    "Retry-After"?: number;
                    /** @description Seconds to the expected end, once the model was measured */
                    "X-Eta-Seconds"?: number;
                    /** @description 0 to 1, while it is drawn and the GPU server tells */
                    "X-Progress"?: string;
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
                    "application/json": components["schemas"]["Generation"];
                };
            };
            /** @description As you have it already */
            304: {
                headers: {
                    /** @description For `If-None-Match` */
                    ETag?: string;
                    /** @description Seconds until the next poll is worth it; absent at the end */
                    "Retry-After"?: number;
                    /** @description Seconds to the expected end, once the model was measured */
                    "X-Eta-Seconds"?: number;
                    /** @description 0 to 1, while it is drawn and the GPU server tells */
                    "X-Progress"?: string;
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
                content?: never;
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "payload_too_large";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    listGenerations: {
        parameters: {
            query?: {
                /** @description The page before's `next_cursor` */
                cursor?: string;
                /** @description How many at most */
                limit?: number;
                /** @description Only those of this model version */
                model_version_id?: number;
                /** @description Submitted at this time or later */
                since?: string;
                /** @description Only those with this status */
                status?: "queued" | "processing" | "succeeded" | "failed";
                /** @description Submitted before this time */
                until?: string;
            };
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GenerationList"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    listImages: {
        parameters: {
            query?: {
                /** @description The page before's `next_cursor` */
                cursor?: string;
                /** @description How many at most */
                limit?: number;
                /** @description Only those of this model version */
                model_version_id?: number;
            };
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageList"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    getImage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the image */
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImageDetail"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    removeImage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the image */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say */
            204: {
                headers: {
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
                content?: never;
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    getImageFile: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the image */
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "image/png": string;
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    moderatePrompt: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Without one, as for a model that is not marked as NSFW */
                    model_version_id?: number | null;
                    /** @default  */
                    negative_prompt?: string | null;
                    /** @description What to draw */
                    prompt: string;
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Moderation"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "payload_too_large";
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
                    "X-Error-Code"?: "unsupported_media_type";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    listWebhooks: {
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookList"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    createWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @default  */
                    description?: string | null;
                    events?: ("generation.succeeded" | "generation.failed" | "image.completed")[] | null;
                    /** @description https, with a public address */
                    url: string;
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "payload_too_large";
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
                    "X-Error-Code"?: "unsupported_media_type";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    getWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the endpoint */
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Webhook"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    deleteWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; there is nothing to say */
            204: {
                headers: {
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
                content?: never;
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    listWebhookDeliveries: {
        parameters: {
            query?: {
                /** @description The page before's `next_cursor` */
                cursor?: string;
                /** @description How many at most */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The ID of the endpoint */
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookDeliveryList"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    rotateWebhookSecret: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the endpoint */
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
    testWebhook: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The ID of the endpoint */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted; it goes on without you */
            202: {
                headers: {
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
                    "application/json": components["schemas"]["WebhookTest"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    "X-Error-Code"?: "not_found";
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
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "X-Error-Code"?: "unavailable";
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
                    webhook_url?: string | null;
                    /** @default 832 */
                    width?: number | null;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
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
                    "application/json": components["schemas"]["CreatedImage"];
                };
            };
            /** @description Accepted; it goes on without you */
            202: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description Signs what `webhook_url` is told */
                    "Webhook-Secret"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
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
                    "application/json": components["schemas"]["QueuedImage"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
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
                    "X-Error-Code"?: "unauthorized";
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
                    "X-Error-Code"?: "insufficient_credits";
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
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
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
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "not_found";
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
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "idempotency_in_flight";
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
                    "X-Error-Code"?: "payload_too_large";
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
                    "X-Error-Code"?: "unsupported_media_type";
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
                    "X-Error-Code"?: "idempotency_mismatch";
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
                    /** @description Where to poll it */
                    Location?: string;
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description The generation that is active, if that is the reason */
                    "X-Active-Generation"?: string;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unavailable";
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
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "timeout";
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
    createOpenAiImages: {
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
                    background?: ("auto" | "opaque") | null;
                    /** @default 7 */
                    cfg_scale?: number | null;
                    /** @default noobai-xl */
                    model?: string | null;
                    moderation?: string | null;
                    /** @default 1 */
                    n?: number | null;
                    /** @default  */
                    negative_prompt?: string | null;
                    output_compression?: number | null;
                    output_format?: "png" | null;
                    partial_images?: 0 | null;
                    /** @description What to draw */
                    prompt: string;
                    quality?: string | null;
                    /** @default url */
                    response_format?: ("url" | "b64_json") | null;
                    /** @default dpm-2m-karras */
                    sampler?: ("euler-a" | "dpm-2m-karras" | "dpm-sde-karras" | "ddim") | null;
                    /** @default -1 */
                    seed?: number | null;
                    size?: string | null;
                    /** @default 28 */
                    steps?: number | null;
                    stream?: false | null;
                    style?: string | null;
                    user?: string | null;
                };
            };
        };
        responses: {
            /** @description Done */
            200: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiImages"];
                };
            };
            /** @description The request is not valid, or the prompt was flagged by moderation */
            400: {
                headers: {
                    /** @description Where to poll it */
                    Location?: string;
                    /** @description The generation that is active, if that is the reason */
                    "X-Active-Generation"?: string;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "invalid_request" | "content_policy_violation";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description Not enough credits */
            402: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "insufficient_credits";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description No active subscription, or not available */
            403: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "forbidden" | "subscription_required" | "model_unavailable";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description Not found */
            404: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "not_found";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    /** @description `false` where a repeat would be charged again, as clients of OpenAI understand it */
                    "X-Should-Retry"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description A request with this Idempotency-Key is still being processed */
            409: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "idempotency_in_flight";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description The body is larger than 64 KiB */
            413: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "payload_too_large";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description The body is not application/json */
            415: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unsupported_media_type";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description This Idempotency-Key was used with another body */
            422: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "idempotency_mismatch";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Where to poll it */
                    Location?: string;
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description The generation that is active, if that is the reason */
                    "X-Active-Generation"?: string;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    /** @description `false` where a repeat would be charged again, as clients of OpenAI understand it */
                    "X-Should-Retry"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unavailable";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    /** @description `false` where a repeat would be charged again, as clients of OpenAI understand it */
                    "X-Should-Retry"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description The picture was not ready in time */
            504: {
                headers: {
                    /** @description `true` on the answer to a repeat */
                    "Idempotent-Replayed"?: string;
                    /** @description What you hold after the charge */
                    "X-Credits-Remaining"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "timeout";
                    /** @description The fields of the request that change nothing */
                    "X-Ignored-Fields"?: string;
                    /** @description Requests that fit into the window */
                    "X-RateLimit-Limit"?: number;
                    /** @description Requests left now */
                    "X-RateLimit-Remaining"?: number;
                    /** @description Seconds until the oldest request leaves the window */
                    "X-RateLimit-Reset"?: number;
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    /** @description `false` where a repeat would be charged again, as clients of OpenAI understand it */
                    "X-Should-Retry"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
        };
    };
    listOpenAiModels: {
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
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiModels"];
                };
            };
            /** @description Missing or invalid API key */
            401: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unauthorized";
                    /** @description Names this answer */
                    "X-Request-Id"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description A limit is reached; `Retry-After` says when to come back */
            429: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "active_generation" | "rate_limited" | "too_many_streams";
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description The generation failed, or the server did */
            500: {
                headers: {
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "generation_failed" | "internal";
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
            /** @description Temporarily unavailable; `Retry-After` says when to come back */
            503: {
                headers: {
                    /** @description Seconds to wait before the next try */
                    "Retry-After"?: number;
                    /** @description A stable code for programs */
                    "X-Error-Code"?: "unavailable";
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
                    "application/json": components["schemas"]["OpenAiProblem"];
                };
            };
        };
    };
}
