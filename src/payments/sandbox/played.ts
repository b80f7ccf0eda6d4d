/**
 * What the sandbox plays of the parameters that the SDK knows, by the SDK's name for the parameters of a call. A path
 * stands for everything inside it. All the rest is known by its name only, and refused: better said than ignored.
 */
export const played = {
  AccountRetrieveParams: [],
  ProductListParams: ['limit', 'starting_after'],
  ProductRetrieveParams: [],
  ProductCreateParams: [
    'id', 'name', 'active', 'description', 'images', 'metadata', 'default_price_data.currency',
    'default_price_data.unit_amount', 'default_price_data.recurring.interval',
    'default_price_data.recurring.interval_count',
  ],
  ProductUpdateParams: ['name', 'active', 'description', 'images', 'metadata', 'default_price'],
  ProductDeleteParams: [],
  PriceListParams: ['limit', 'starting_after', 'active', 'product'],
  PriceRetrieveParams: [],
  PriceCreateParams: [
    'product', 'currency', 'unit_amount', 'unit_amount_decimal', 'custom_unit_amount', 'recurring.interval',
    'recurring.interval_count', 'active', 'nickname', 'lookup_key', 'metadata',
  ],
  PriceUpdateParams: ['active', 'nickname', 'lookup_key', 'metadata'],
  SessionListParams: ['limit', 'starting_after', 'status', 'created'],
  SessionRetrieveParams: ['expand'],
  SessionCreateParams: [
    'mode', 'line_items.price', 'line_items.quantity', 'success_url', 'cancel_url', 'customer_email', 'metadata',
    'branding_settings.display_name', 'shipping_address_collection', 'payment_intent_data.description',
    'payment_intent_data.receipt_email', 'payment_intent_data.metadata', 'subscription_data.description',
    'subscription_data.metadata',
  ],
  SessionListLineItemsParams: ['limit', 'starting_after'],
  EventListParams: ['limit', 'starting_after'],
  WebhookEndpointCreateParams: ['url', 'enabled_events', 'api_version', 'description'],
  WebhookEndpointDeleteParams: [],
} as const // biome-ignore format: a few lines read better
