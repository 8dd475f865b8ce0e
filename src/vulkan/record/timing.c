/* The profiler on a GPU: a timestamp behind each dispatch, read when the submission is over. What a dispatch
 * took is the time since the one before it ended, so that those that run at the same time share it. Called by
 * record.c and submission.c while the profiler is on; queries are made the first time. */

/* What comes next belongs to this call. */
static void oxi_vk_time_call(oxi_vk_device *d, const oxi_call *call) {
    if (!oxi_profiling() || !d->base.times_calls) return;
    d->timed_call = oxi_profile_record_of(call, OXI_PROFILE_GPU);
    d->timed_number++;
}

/* At the head of a submission: whether its dispatches are timed. */
static void oxi_vk_time_begin(oxi_vk_device *d) {
    d->noted_stamps = 0;
    if (!oxi_profiling() || !d->base.times_calls) return;
    if (!d->noted) d->noted = (oxi_vk_timed *)oxi_try_alloc(OXI_VK_STAMPS * sizeof *d->noted);
    if (d->noted) d->noted_stamps = 1;
}

/* Behind a dispatch that was noted. */
static void oxi_vk_time_dispatch(oxi_vk_device *d) {
    if (d->noted_stamps == 0 || d->noted_stamps == OXI_VK_STAMPS) return;
    d->noted[d->noted_stamps].record = d->timed_call;
    d->noted[d->noted_stamps++].number = d->timed_number;
}

/* Writes the next stamp, as long as there is one. */
static void oxi_vk_time_stamp(oxi_vk_device *d, oxi_vk_slot *slot) {
    if (slot->stamps == 0 || slot->stamps >= d->noted_stamps) return;
    d->vk.vkCmdWriteTimestamp(slot->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot->queries,
                              (uint32_t)slot->stamps++);
}

/* At the head of a command buffer. */
static void oxi_vk_time_write(oxi_vk_device *d, oxi_vk_slot *slot) {
    slot->stamps = 0;
    if (d->noted_stamps == 0) return;
    if (!slot->queries) {
        VkQueryPoolCreateInfo info;
        memset(&info, 0, sizeof info);
        info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
        info.queryType = VK_QUERY_TYPE_TIMESTAMP;
        info.queryCount = OXI_VK_STAMPS;
        if (d->vk.vkCreateQueryPool(d->device, &info, NULL, &slot->queries) != VK_SUCCESS) return;
        slot->timed = (oxi_vk_timed *)oxi_try_alloc(OXI_VK_STAMPS * sizeof *slot->timed);
    }
    if (!slot->timed) return;
    memcpy(slot->timed, d->noted, (size_t)d->noted_stamps * sizeof *slot->timed);
    d->vk.vkCmdResetQueryPool(slot->commands, slot->queries, 0, OXI_VK_STAMPS);
    d->vk.vkCmdWriteTimestamp(slot->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, slot->queries, 0);
    slot->stamps = 1;
}

/* Hands what a submission that is over took to the profiler; dispatches of one call are one record. */
static void oxi_vk_time_end(oxi_vk_device *d, oxi_vk_slot *slot) {
    uint64_t stamp[OXI_VK_STAMPS];
    int count = slot->stamps;
    slot->stamps = 0;
    if (count < 2) return;
    VkResult result = d->vk.vkGetQueryPoolResults(d->device, slot->queries, 0, (uint32_t)count,
                                                  (size_t)count * sizeof *stamp, stamp, sizeof *stamp,
                                                  VK_QUERY_RESULT_64_BIT);
    if (result != VK_SUCCESS) return;
    /* the device's clock beside ours: the last stamp lies before now, the nearer the better */
    double unit = 1e-9 * (double)d->limits.timestampPeriod;
    double ahead = oxi_now() - unit * (double)stamp[count - 1];
    if (d->clock_ahead == 0 || ahead < d->clock_ahead) d->clock_ahead = ahead;
    for (int i = 1; i < count;) {
        oxi_profile_record record = slot->timed[i].record;
        int64_t number = slot->timed[i].number;
        int first = i;
        while (i < count && slot->timed[i].number == number) i++;
        record.start = unit * (double)stamp[first - 1] + d->clock_ahead;
        record.seconds = unit * (double)(stamp[i - 1] - stamp[first - 1]);
        oxi_profile_put(&record);
    }
}

static void oxi_vk_time_stop(oxi_vk_device *d, oxi_vk_slot *slot) {
    if (slot->queries) d->vk.vkDestroyQueryPool(d->device, slot->queries, NULL);
    if (slot->timed) oxi_free(slot->timed, OXI_VK_STAMPS * sizeof *slot->timed);
}
