/* The optimizer of descent.cpp in C: the same table, filled by hand. */
#include <string.h>

#include "baleen/descriptor.h"
#include "baleen/optimizer.h"
#include "baleen/start.h"

BALEEN_DESCRIPTOR("optimizer", "descent_c", "1.0.0", "Apache-2.0", "Gradient descent in C, an example", -1, "",
                  BALEEN_OPTION("lr", BALEEN_OPTION_SCHEDULE, BALEEN_OPTION_PER_GROUP, 0, 1e9, "0.1", "", "",
                                "learning rate"));

static baleen_string_t string(const char* text) {
    const baleen_string_t out = {text, strlen(text)};
    return out;
}

/* One object per job. The host is all it has to remember. */
static baleen_status_t create(const baleen_host_t* host, const baleen_settings_t* settings, void** optimizer) {
    (void)settings;
    *optimizer = (void*)host;
    return BALEEN_OK;
}

static void destroy(void* optimizer) { (void)optimizer; }

static baleen_optimizer_traits_t traits(void* optimizer) {
    (void)optimizer;
    return BALEEN_OPTIMIZER_ELEMENTWISE;
}

static baleen_status_t slots(void* optimizer, const baleen_settings_t* settings, baleen_slot_t* out, uint32_t* count) {
    (void)optimizer, (void)settings, (void)out;
    *count = 0;
    return BALEEN_OK;
}

static const baleen_setting_t* find(const baleen_settings_t* settings, const char* name) {
    for (uint64_t i = 0; i < settings->count; ++i) {
        const baleen_string_t known = settings->items[i].name;
        if (known.size == strlen(name) && memcmp(known.data, name, known.size) == 0) return &settings->items[i];
    }
    return NULL;
}

static baleen_status_t update(void* optimizer, const baleen_graph_t* graph, baleen_update_t* update) {
    const baleen_host_t* host = optimizer;
    const baleen_setting_t* lr = find(update->settings, "lr");
    if (!lr) return host->fail(host->self, BALEEN_INTERNAL, string("no option `lr` in the schema"));
    /* input 0 - input 1 * input 2, instruction by instruction */
    const baleen_instruction_t code[] = {{BALEEN_X_INPUT, 0, 0, 0, 0}, {BALEEN_X_INPUT, 1, 0, 0, 0},
                                         {BALEEN_X_INPUT, 2, 0, 0, 0}, {BALEEN_X_MUL, 1, 2, 0, 0},
                                         {BALEEN_X_SUB, 0, 3, 0, 0}};
    const int64_t result = 4;
    const baleen_attribute_t attributes[] = {
        {string("expression"), BALEEN_ATTRIBUTE_EXPRESSION, 0, sizeof code / sizeof code[0], code},
        {string("results"), BALEEN_ATTRIBUTE_INTS, 0, 1, &result}};
    const baleen_value_t inputs[] = {update->parameter, lr->value, update->gradient};
    const baleen_op_view_t op = {.size = sizeof op,
                                 .kind = string("pointwise"),
                                 .inputs = inputs,
                                 .input_count = 3,
                                 .attributes = attributes,
                                 .attribute_count = 2};
    return graph->append(graph->self, &op, &update->new_parameter, 1);
}

/* The one exported symbol. */
BALEEN_EXPORT baleen_status_t baleen_plugin_start(const baleen_host_t* host, void* table) {
    /* By name: what is not here is null, also where a later version of the table has more. */
    const baleen_optimizer_t mine = {.size = sizeof mine,
                                     .create = create,
                                     .destroy = destroy,
                                     .traits = traits,
                                     .slots = slots,
                                     .update = update};
    return baleen_give_table(host, "optimizer", table, &mine, sizeof mine);
}
