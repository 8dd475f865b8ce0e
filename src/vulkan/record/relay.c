/* Relays: dispatches of consecutive epochs as one. Between two dispatches a device ends all that runs, and
 * fetches the next one's parameters and weights only then. The workgroups of a relay all run at once, so that
 * they can wait for each other (shaders/common/meeting.glsl), and the weights of a part are on their way
 * before they do. Parts are products of one row; a relay's module is linked from theirs (driver/link.c).
 * Called by submission.c. */

/* The number of a pipeline that may be a part, from 1 on; 0: there is no memory. */
static uint32_t oxi_vk_part_number(oxi_vk_device *d, const oxi_vk_pipeline_key *key) {
    uint32_t number = (uint32_t)oxi_vk_table_get(&d->part_numbers, key);
    if (number) return number;
    if (d->part_count == d->part_room) {
        size_t room = 2 * (size_t)d->part_room + 64, size = sizeof *d->parts;
        oxi_vk_pipeline_key *grown =
            (oxi_vk_pipeline_key *)oxi_realloc(d->parts, d->part_room * size, room * size);
        if (!grown) return 0;
        d->parts = grown;
        d->part_room = (uint32_t)room;
    }
    if (oxi_vk_table_reserve(&d->part_numbers, sizeof *key) != OX_OK) return 0;
    d->parts[d->part_count++] = *key;
    oxi_vk_table_set(&d->part_numbers, key, d->part_count);
    return d->part_count;
}

/* The same for a dispatch; 0: it is no part. */
static uint32_t oxi_vk_part_of(oxi_vk_device *d, const oxi_vk_dispatch *dispatch) {
    const oxi_vk_product_few_specials *few = &dispatch->special.product_few;
    oxi_vk_pipeline_key key;
    if (!(d->caps & OX_VULKAN_CAP_RELAY) || dispatch->shader != OXI_VK_SHADER_product_dot) return 0;
    if (few->experts || few->base.ids || few->rows > 1 || dispatch->groups[0] > d->relay_groups ||
        dispatch->groups[1] > 1 || dispatch->groups[2] > 1)
        return 0;
    memset(&key, 0, sizeof key);
    key.shader = (uint32_t)dispatch->shader;
    key.special = dispatch->special;
    return oxi_vk_part_number(d, &key);
}

/* How many commands from number `first` on, which begins an epoch, are all there is of their epochs and can
 * be one relay. */
static uint32_t oxi_vk_relay_length(const oxi_vk_device *d, uint32_t first) {
    const oxi_vk_command *c = d->commands;
    uint32_t length = 0, threads = 0;
    if (d->noted_stamps > 0 || !(d->caps & OX_VULKAN_CAP_RELAY)) return 0;
    for (uint32_t i = first; i < d->command_count;) {
        uint32_t end = i;
        for (; end < d->command_count && c[end].epoch == c[i].epoch; end++) {
            if (!c[end].part || end - first >= d->relay_parts) return length;
            uint32_t own = d->parts[c[end].part - 1].special.product_few.threads;
            if (threads && own != threads) return length;
            threads = own;
        }
        length = end - first;
        i = end;
    }
    return length;
}

/* A part's words, and its constants, [OXI_VK_CONSTANTS]. */
static ox_status oxi_vk_part_words(const oxi_vk_device *d, const oxi_vk_relay_key *key, uint32_t i,
                                   uint32_t *constants, oxi_vk_words *out) {
    oxi_vk_pipeline_key part = d->parts[key->part[i] - 1];
    const uint32_t behind = i + 1 < OXI_VK_RELAY_PARTS ? key->part[i + 1] : 0;
    oxi_vk_product_few_specials *few = &part.special.product_few;
    for (uint32_t k = 1; k <= i; k++) few->awaits += key->later >> k & 1;
    few->meets = !behind                      ? OXI_VK_MEETS_LAST
                 : key->later >> (i + 1) & 1 ? OXI_VK_MEETS_NEXT
                                             : OXI_VK_MEETS_NOBODY;
    (void)oxi_vk_constants_of(&part, constants);
    size_t bytes = 0, room = 0;
    ox_status status = oxi_vk_special_words(&oxi_vk_shaders[part.shader], constants, &out->at, &bytes, &room);
    out->count = bytes / 4;
    out->room = room / 4;
    return status;
}

static ox_status oxi_vk_make_relay(oxi_vk_device *d, const oxi_vk_relay_key *key, VkPipeline *out) {
    oxi_vk_words part[OXI_VK_RELAY_PARTS], whole;
    const uint32_t *constants[OXI_VK_RELAY_PARTS];
    uint32_t parts = 0, *room = (uint32_t *)oxi_calloc(OXI_VK_RELAY_PARTS, 4 * OXI_VK_CONSTANTS);
    ox_status status = room ? OX_OK : OX_ERR_NOMEM;
    memset(part, 0, sizeof part);
    memset(&whole, 0, sizeof whole);
    for (; status == OX_OK && parts < OXI_VK_RELAY_PARTS && key->part[parts]; parts++) {
        uint32_t *own = room + parts * OXI_VK_CONSTANTS;
        constants[parts] = own;
        status = oxi_vk_part_words(d, key, parts, own, &part[parts]);
    }
    uint32_t shared = 0;
    if (status == OX_OK) status = oxi_vk_link(part, constants, parts, &whole, &shared);
    for (uint32_t i = 0; i < parts; i++) oxi_free(part[i].at, 4 * part[i].room);
    oxi_free(room, OXI_VK_RELAY_PARTS * 4 * OXI_VK_CONSTANTS);
    VkShaderModule module = VK_NULL_HANDLE;
    if (status == OX_OK) status = oxi_vk_load_module(d, whole.at, 4 * whole.count, &module);
    oxi_free(whole.at, 4 * whole.room);
    if (status != OX_OK) return status;
    return oxi_vk_build_pipeline(d, OXI_VK_SHADER_product_dot, module, d->relay_layout, NULL, out);
}

/* The pipeline of the relay of `count` commands. */
static ox_status oxi_vk_find_relay(oxi_vk_device *d, const oxi_vk_command *c, uint32_t count,
                                   VkPipeline *out) {
    oxi_vk_relay_key key;
    memset(&key, 0, sizeof key);
    for (uint32_t i = 0; i < count; i++) {
        key.part[i] = c[i].part;
        if (i > 0 && c[i].epoch > c[i - 1].epoch) key.later |= 1u << i;
    }
    *out = (VkPipeline)oxi_vk_table_get(&d->relays, &key);
    if (*out) return OX_OK;
    ox_status status = oxi_vk_table_reserve(&d->relays, sizeof key);
    if (status == OX_OK) status = oxi_vk_make_relay(d, &key, out);
    if (status == OX_OK) oxi_vk_table_set(&d->relays, &key, (uint64_t)*out);
    return status;
}

static ox_status oxi_vk_write_relay(oxi_vk_device *d, const oxi_vk_slot *slot, const oxi_vk_command *c,
                                    uint32_t count) {
    VkDescriptorSet sets[OXI_VK_RELAY_PARTS * OXI_VK_DESCRIPTOR_SETS];
    uint32_t offsets[OXI_VK_RELAY_PARTS];
    VkPipeline pipeline = VK_NULL_HANDLE;
    ox_status status = oxi_vk_find_relay(d, c, count, &pipeline);
    if (status != OX_OK) return status;
    for (uint32_t i = 0; i < count; i++) {
        sets[i * OXI_VK_DESCRIPTOR_SETS + OXI_VK_PARAM_SET] = d->param_set;
        sets[i * OXI_VK_DESCRIPTOR_SETS + OXI_VK_BLOCK_SET] = c[i].set;
        offsets[i] = (uint32_t)(slot - d->slot) * OXI_VK_PARAM_ROOM + c[i].params;
    }
    d->vk.vkCmdBindPipeline(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    d->vk.vkCmdBindDescriptorSets(slot->commands, VK_PIPELINE_BIND_POINT_COMPUTE, d->relay_layout, 0,
                                  count * OXI_VK_DESCRIPTOR_SETS, sets, count, offsets);
    d->vk.vkCmdDispatch(slot->commands, d->relay_groups, 1, 1);
    d->counters.relays++;
    return OX_OK;
}
